//! serde types that take what they can use and let the rest pass: a field of another type is an absent field.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The visitor methods that every lenient type shares: whatever comes, the default.
macro_rules! otherwise_default {
    ($de:lifetime; $($skip:ident)*) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        otherwise_default!(@bool $($skip)*);
        otherwise_default!(@num $($skip)*);
        otherwise_default!(@str $($skip)*);
        otherwise_default!(@seq $de; $($skip)*);
        otherwise_default!(@map $de; $($skip)*);
    };
    (@bool bool $($t:tt)*) => {};
    (@bool $x:ident $($t:tt)*) => { otherwise_default!(@bool $($t)*); };
    (@bool) => { fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> { Ok(Self::Value::default()) } };
    (@num num $($t:tt)*) => {};
    (@num $x:ident $($t:tt)*) => { otherwise_default!(@num $($t)*); };
    (@num) => {
        fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
    (@str str $($t:tt)*) => {};
    (@str $x:ident $($t:tt)*) => { otherwise_default!(@str $($t)*); };
    (@str) => { fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> { Ok(Self::Value::default()) } };
    (@seq $de:lifetime; seq $($t:tt)*) => {};
    (@seq $de:lifetime; $x:ident $($t:tt)*) => { otherwise_default!(@seq $de; $($t)*); };
    (@seq $de:lifetime;) => {
        fn visit_seq<A: SeqAccess<$de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@map $de:lifetime; map $($t:tt)*) => {};
    (@map $de:lifetime; $x:ident $($t:tt)*) => { otherwise_default!(@map $de; $($t)*); };
    (@map $de:lifetime;) => {
        fn visit_map<A: MapAccess<$de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

/// A string, borrowed where it holds no escape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Str<'a>(pub Option<Cow<'a, str>>);

impl Str<'_> {
    /// The string; empty when absent.
    pub fn text(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }

    /// The string unless absent or empty.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|s| !s.is_empty())
    }
}

struct StrVisitor;

impl<'de> Visitor<'de> for StrVisitor {
    type Value = Str<'de>;
    fn visit_borrowed_str<E: de::Error>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Str(Some(Cow::Borrowed(v))))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Str(Some(Cow::Owned(v.to_owned()))))
    }
    otherwise_default!('de; str);
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(StrVisitor)
    }
}

/// A count: a whole number however it is written (`12`, `12.0`, `1e5`, `"12"`). Negative, fractional or absurd ones are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count(pub Option<u64>);

struct CountVisitor;

/// Above this a count of tokens is no count of tokens.
const MOST: u64 = 1 << 40;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;
    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Count, E> {
        Ok(Count(Some(v).filter(|&v| v <= MOST)))
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Count, E> {
        Ok(Count(u64::try_from(v).ok().filter(|&v| v <= MOST)))
    }
    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Count, E> {
        Ok(Count((v >= 0.0 && v.fract() == 0.0 && v <= MOST as f64).then_some(v as u64)))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Count, E> {
        Ok(Count(v.parse().ok().filter(|&v| v <= MOST)))
    }
    otherwise_default!('de; num str);
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(CountVisitor)
    }
}

/// A flag; anything but `true` is `false`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

struct FlagVisitor;

impl<'de> Visitor<'de> for FlagVisitor {
    type Value = Flag;
    fn visit_bool<E: de::Error>(self, v: bool) -> Result<Flag, E> {
        Ok(Flag(v))
    }
    otherwise_default!('de; bool);
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(FlagVisitor)
    }
}

/// An object, read as `T`; anything else is absent.
#[derive(Debug, Clone)]
pub struct Object<T>(pub Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map)).map(|t| Object(Some(t)))
    }
    otherwise_default!('de; map);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ObjectVisitor(PhantomData))
    }
}

/// Message content: a string, or a list whose objects are read as `T`.
#[derive(Debug, Clone, Default)]
pub enum Content<'a, T> {
    /// Absent, or of a kind that holds no text.
    #[default]
    Nothing,
    /// Plain text.
    Text(Cow<'a, str>),
    /// Blocks; elements that are no objects are left out, strings among them become `Err`.
    Blocks(Vec<Result<T, Cow<'a, str>>>),
}

struct ContentVisitor<'a, T>(PhantomData<(&'a (), T)>);

/// One element of a list of blocks.
#[derive(Default)]
enum Element<'a, T> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Block(T),
}

struct ElementVisitor<'a, T>(PhantomData<(&'a (), T)>);

impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for ElementVisitor<'a, T> {
    type Value = Element<'a, T>;
    fn visit_borrowed_str<E: de::Error>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Element::Text(Cow::Borrowed(v)))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Element::Text(Cow::Owned(v.to_owned())))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map)).map(Element::Block)
    }
    otherwise_default!('de; str map);
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Element<'a, T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ElementVisitor(PhantomData))
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for ContentVisitor<'a, T> {
    type Value = Content<'a, T>;
    fn visit_borrowed_str<E: de::Error>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Borrowed(v)))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Owned(v.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(element) = seq.next_element::<Element<'a, T>>()? {
            match element {
                Element::Nothing => {}
                Element::Text(text) => blocks.push(Err(text)),
                Element::Block(block) => blocks.push(Ok(block)),
            }
        }
        Ok(Content::Blocks(blocks))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map)).map(|block| Content::Blocks(vec![Ok(block)]))
    }
    otherwise_default!('de; str seq map);
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Content<'a, T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ContentVisitor(PhantomData))
    }
}

/// Appends every string value of a JSON text to `out`, each followed by U+001F, which no window of a quotation holds.
///
/// Keys are left out. Faulty escapes become U+FFFD. Not recursive: any depth is read.
pub fn strings_of(json: &str, out: &mut String) {
    let bytes = json.as_bytes();
    let mut i = 0;
    while let Some(open) = bytes[i..].iter().position(|&b| b == b'"') {
        let start = i + open + 1;
        let mut end = start;
        let mut escaped = false;
        while end < bytes.len() && bytes[end] != b'"' {
            escaped |= bytes[end] == b'\\';
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let end = end.min(bytes.len());
        let key = bytes[(end + 1).min(bytes.len())..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
        if !key {
            if escaped {
                unescape(&json[start..end], out);
            } else {
                out.push_str(&json[start..end]);
            }
            out.push('\u{1f}');
        }
        i = (end + 1).min(bytes.len());
    }
}

fn unescape(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] != b'\\' {
            i += 1;
            continue;
        }
        out.push_str(&text[copied..i]);
        let (c, len) = match bytes.get(i + 1) {
            Some(b'n') => ('\n', 2),
            Some(b't') => ('\t', 2),
            Some(b'r') => ('\r', 2),
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(&c @ (b'"' | b'\\' | b'/')) => (c as char, 2),
            Some(b'u') => match (super::repair::hex4(bytes, i + 2), bytes.get(i + 6..i + 8), super::repair::hex4(bytes, i + 8)) {
                (Some(high @ 0xd800..0xdc00), Some(b"\\u"), Some(low @ 0xdc00..0xe000)) => {
                    (char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).unwrap_or('\u{fffd}'), 12)
                }
                (Some(c), ..) => (char::from_u32(c).unwrap_or('\u{fffd}'), 6),
                (None, ..) => ('\u{fffd}', 2),
            },
            _ => ('\u{fffd}', 1),
        };
        out.push(c);
        i = (i + len).min(bytes.len());
        copied = i;
    }
    out.push_str(&text[copied.min(text.len())..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_in_every_spelling() {
        let of = |s: &str| serde_json::from_str::<Count>(s).unwrap().0;
        for (s, n) in [("7", Some(7)), ("12.0", Some(12)), ("1e5", Some(100_000)), ("\"3\"", Some(3)), ("0", Some(0))] {
            assert_eq!(of(s), n, "{s}");
        }
        for s in ["-1", "1.5", "null", "true", "[1]", "{\"a\":1}", "\"x\"", "1e30"] {
            assert_eq!(of(s), None, "{s}");
        }
    }

    #[test]
    fn strings_come_out_unescaped_and_keys_do_not() {
        let mut out = String::new();
        strings_of(r#"{"key":"a\nb","n":[1,"c\ud83d\ude00\ud83d","\u00e9"], "k2" : {"k3":"x\"y"}}"#, &mut out);
        assert_eq!(out, "a\nb\u{1f}c\u{1f600}\u{fffd}\u{1f}\u{e9}\u{1f}x\"y\u{1f}");
        let mut cut = String::new();
        strings_of("{\"a\":\"b\\", &mut cut);
        assert_eq!(cut, "b\u{fffd}\u{1f}");
    }

    #[test]
    fn content_takes_every_shape() {
        let of = |s: &str| match serde_json::from_str::<Content<'_, Object<Count>>>(s).unwrap() {
            Content::Nothing => 0,
            Content::Text(_) => 1,
            Content::Blocks(b) => 10 + b.len(),
        };
        assert_eq!((of("null"), of("3"), of("\"a\"")), (0, 0, 1));
        assert_eq!((of("[]"), of(r#"["a",{},3,null,[{}]]"#), of("{}")), (10, 12, 11));
    }
}
