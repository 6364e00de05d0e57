//! What differs between two result sets besides the results.

use serde_json::Value;

use crate::results::ResultSet;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// What differs: `cleartune's version`, `the price table`, `the inputs`, `the grid` and such.
    pub what: &'static str,
    /// On either side, where that is short enough to say.
    pub values: Option<(String, String)>,
    /// Whether it is known that it differs; `false` where a manifest is lacking.
    pub known: bool,
    /// Whether sessions may differ by chance for it.
    pub(super) moves_sessions: bool,
}

/// The differences, the weightiest first. Without a manifest on a side they cannot be known, which is the
/// only difference then.
pub fn changed(base: &ResultSet, head: &ResultSet) -> Vec<Changed> {
    let (Some(a), Some(b)) = (&base.manifest, &head.manifest) else {
        let what = match (&base.manifest, &head.manifest) {
            (None, None) => "neither side has a manifest.json",
            (None, _) => "the base has no manifest.json",
            _ => "the head has no manifest.json",
        };
        return vec![Changed { what, values: None, known: false, moves_sessions: true }];
    };
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    let mut all = Vec::new();
    let mut compare = |what, pointers: &[&str], moves_sessions, said: bool| {
        let differs = pointers.iter().any(|p| a.pointer(p) != b.pointer(p));
        if differs {
            let value = |m: &Value| pointers.iter().filter_map(|p| m.pointer(p)).map(text).collect::<Vec<_>>().join(", ");
            all.push(Changed { what, values: said.then(|| (value(a), value(b))), known: true, moves_sessions });
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
