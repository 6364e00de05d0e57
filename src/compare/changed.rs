//! What differs between two result sets besides the results.

use serde_json::Value;

use crate::results::ResultSet;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// What differs: `cleartune's version`, `the price table`, `the inputs`, `what was asked`, `the assumptions`.
    pub what: &'static str,
    /// On either side, where that is short enough to say.
    pub values: Option<(String, String)>,
    /// Whether sessions may differ by chance for it.
    pub(super) moves_sessions: bool,
}

/// The differences, the weightiest first. A side without a manifest cannot be looked at, which is said too.
pub fn changed(base: &ResultSet, head: &ResultSet) -> Vec<Changed> {
    let (Some(a), Some(b)) = (&base.manifest, &head.manifest) else {
        let lacks = |set: &ResultSet| if set.manifest.is_none() { "no manifest.json" } else { "there" };
        let values = Some((lacks(base).to_owned(), lacks(head).to_owned()));
        return vec![Changed { what: "what the results were made from is not known", values, moves_sessions: true }];
    };
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    let mut all = Vec::new();
    let mut compare = |what, pointers: &[&str], moves_sessions, said: bool| {
        let differs = pointers.iter().any(|p| a.pointer(p) != b.pointer(p));
        if differs {
            let value = |m: &Value| pointers.iter().filter_map(|p| m.pointer(p)).map(text).collect::<Vec<_>>().join(", ");
            all.push(Changed { what, values: said.then(|| (value(a), value(b))), moves_sessions });
        }
    };
    compare("cleartune's version", &["/version"], false, true);
    compare("the price table", &["/price_catalogue/version", "/price_catalogue/date"], false, true);
    compare("the inputs", &["/sources"], true, false);
    compare("the number of transcripts", &["/transcripts"], true, true);
    compare("the grid", &["/asked/grid", "/asked/refine"], false, false);
    compare("how logs are read", &["/asked/logs"], true, false);
    compare("assumptions, cache or prices", &["/settings", "/asked/config_sha256"], false, false);
    compare("how the choice is made", &["/asked/choice"], false, false);
    all
}
