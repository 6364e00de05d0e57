//! What a tool use asks for, as a hash: two uses that ask the same have the same, in whatever order their inputs have the keys.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::super::normal::{Held, Identity, Item};
use super::content::{Piece, Raw};

/// Top-level keys of an input that name the file which the use is about.
const PATHS: [&str; 3] = ["file_path", "path", "notebook_path"];

/// The identity of a use of `tool` with the JSON `input`. Input that is no JSON (a cut stream) counts as it stands.
pub fn identity(tool: &str, input: &str) -> Identity {
    let mut path = 0;
    let mut json = serde_json::Deserializer::from_str(input);
    let value = Canonical { path: Some(&mut path) }.deserialize(&mut json).unwrap_or_else(|_| of(&input));
    Identity { input: of(&(tool, value)), path }
}

fn of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Hashes a JSON value while it is read; of an object's keys the order makes no difference. `path`: where the hash of a path goes.
struct Canonical<'p> {
    path: Option<&'p mut u64>,
}

impl<'de> DeserializeSeed<'de> for Canonical<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Canonical<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E: de::Error>(self, v: bool) -> Result<u64, E> {
        Ok(of(&("bool", v)))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<u64, E> {
        self.visit_f64(v as f64)
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<u64, E> {
        self.visit_f64(v as f64)
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<u64, E> {
        Ok(of(&("number", v.to_bits())))
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<u64, E> {
        Ok(of(&("text", v)))
    }

    fn visit_unit<E: de::Error>(self) -> Result<u64, E> {
        Ok(of(&"null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u64, A::Error> {
        let mut hasher = DefaultHasher::new();
        "list".hash(&mut hasher);
        while let Some(element) = seq.next_element_seed(Canonical { path: None })? {
            element.hash(&mut hasher);
        }
        Ok(hasher.finish())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        let mut path = self.path;
        let (mut sum, mut n) = (0u64, 0u64);
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let value = map.next_value_seed(Canonical { path: None })?;
            if let Some(path) = path.as_deref_mut().filter(|_| PATHS.contains(&key.as_ref())) {
                *path = value;
            }
            sum = sum.wrapping_add(of(&(key.as_ref(), value)));
            n += 1;
        }
        Ok(of(&("object", n, sum)))
    }
}

/// Puts the originals that `all` holds in the place of placeholders among `into`; such a result is then [`Held::Restored`].
///
/// Ids that stand for several different results tell nothing.
pub fn originals<'p>(all: impl Iterator<Item = &'p Piece>) -> HashMap<u128, Option<Item>> {
    let mut known: HashMap<u128, Option<Item>> = HashMap::new();
    for piece in all {
        let (Raw::Result(id), Held::Whole) = (&piece.raw, piece.item.held) else { continue };
        let same = |other: &Item| other.bytes == piece.item.bytes && other.fixed == piece.item.fixed;
        known.entry(*id).and_modify(|k| *k = k.take().filter(same)).or_insert_with(|| Some(piece.item.clone()));
    }
    known
}

/// Restores a placeholder from what [`originals`] found.
pub fn restore(piece: &mut Piece, originals: &HashMap<u128, Option<Item>>) {
    let (Raw::Result(id), Held::Placeholder) = (&piece.raw, piece.item.held) else { return };
    if let Some(Some(original)) = originals.get(id) {
        piece.item = Item { held: Held::Restored, ..original.clone() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_and_blanks_make_no_difference_and_everything_else_does() {
        let of = |input: &str| identity("Read", input).input;
        let one = of(r#"{"file_path":"a","range":[1,2]}"#);
        assert_eq!(one, of(r#"{ "range" : [1, 2.0], "file_path" : "\u0061" }"#));
        for other in [
            r#"{"file_path":"b","range":[1,2]}"#,
            r#"{"file_path":"a","range":[2,1]}"#,
            r#"{"file_path":"a","range":[1,2],"more":null}"#,
            r#"{"file_path":"a"}"#,
            r#"{"file_path":"a","range":["1",2]}"#,
            r#"{"file_path":"range","a":[1,2]}"#,
        ] {
            assert_ne!(one, of(other), "{other}");
        }
        assert_ne!(one, identity("Grep", r#"{"file_path":"a","range":[1,2]}"#).input);
        assert_eq!(of(r#"{"cut"#), of(r#"{"cut"#));
    }

    #[test]
    fn a_path_is_told_at_the_top_level_only() {
        let path = |input: &str| identity("x", input).path;
        assert_eq!(path(r#"{"file_path":"a","old":"b"}"#), path(r#"{"new":"c","path":"a"}"#));
        assert_ne!(path(r#"{"file_path":"a"}"#), path(r#"{"file_path":"b"}"#));
        assert_eq!((path(r#"{"q":{"path":"a"}}"#), path("[1]"), path("")), (0, 0, 0));
    }
}
