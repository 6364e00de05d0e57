//! A case on each side of every rule of a quotation.

use super::*;

/// 48 bytes, 21 different characters.
const FACT: &str = "the cache holds 4096 tokens behind breakpoint 17";

fn found(blocks: &[(Option<u32>, u32, &str)], request: u32, output: &str) -> Vec<u32> {
    let mut quotations = Quotations::new(NeedOptions::default());
    for &(id, sent, text) in blocks {
        match id {
            Some(id) => quotations.add_result(id, sent, text),
            None => quotations.add_own(text),
        }
    }
    quotations.needs(request, output)
}

#[test]
fn forty_bytes_are_a_quotation_and_thirty_nine_are_not() {
    let result = format!("Intro. {FACT} and so on.");
    assert_eq!(found(&[(Some(3), 1, &result)], 2, &format!("<<{}>>", &FACT[..40])), [3]);
    assert!(found(&[(Some(3), 1, &result)], 2, &format!("<<{}>>", &FACT[..39])).is_empty());
}

#[test]
fn fourteen_characters_are_varied_enough_and_thirteen_are_not() {
    let fourteen = "abcdefghijklmn".repeat(4);
    let thirteen = "abcdefghijklm".repeat(4);
    assert_eq!(found(&[(Some(0), 1, &fourteen)], 5, &fourteen), [0]);
    assert!(found(&[(Some(0), 1, &thirteen)], 5, &thirteen).is_empty());
}

#[test]
fn the_request_that_follows_the_result_uses_it_for_the_first_time() {
    assert!(found(&[(Some(0), 1, FACT)], 1, FACT).is_empty());
    assert_eq!(found(&[(Some(0), 1, FACT)], 2, FACT), [0]);
}

#[test]
fn own_text_in_between_holds_the_words_more_recently() {
    let said = format!("As found: {FACT}.");
    assert!(found(&[(Some(0), 1, FACT), (None, 1, &said)], 3, FACT).is_empty());
    // Said before the result came, it is older.
    assert_eq!(found(&[(None, 0, &said), (Some(0), 1, FACT)], 3, FACT), [0]);
}

#[test]
fn own_text_anywhere_stands_for_what_results_repeat_of_it() {
    let anywhere = |blocks: &[(Option<u32>, &str)], output: &str| {
        let mut quotations = Quotations::new(NeedOptions { own_text: OwnText::Anywhere, ..NeedOptions::default() });
        for (request, (id, text)) in blocks.iter().enumerate() {
            match id {
                Some(id) => quotations.add_result(*id, request as u32, *text),
                None => quotations.add_own(*text),
            }
        }
        quotations.needs(9, output)
    };
    let said = format!("As found: {FACT}.");
    // Said before the result came or after: either way the words stay in the prompt.
    assert!(anywhere(&[(None, &said), (Some(0), FACT)], FACT).is_empty());
    assert!(anywhere(&[(Some(0), FACT), (None, &said)], FACT).is_empty());
    assert_eq!(anywhere(&[(None, "Something else that is long enough to count, 123."), (Some(0), FACT)], FACT), [0]);
    // Only a part was said: the result is needed for the rest, if that is a quotation by itself.
    let rest = "and the second half of the line is news to us, 86";
    let line = format!("{FACT} {rest}");
    assert_eq!(anywhere(&[(None, &said), (Some(0), &line)], &line), [0]);
    assert!(anywhere(&[(None, &said), (Some(0), &line)], &line[..FACT.len() + 30]).is_empty());
    // Of several results the most recent counts, as ever.
    assert_eq!(anywhere(&[(Some(0), FACT), (Some(1), FACT)], FACT), [1]);
}

#[test]
fn the_second_quotation_of_a_sentence_needs_nothing_even_with_a_word_more_around_it() {
    let result = format!("Note: {FACT}. Next comes the rest of the page.");
    let first = format!("I read that {FACT}. Good.");
    let second = format!("Note: {FACT}. Next");
    assert!(found(&[(Some(0), 1, &result), (None, 2, &first)], 4, &second).is_empty());
    let more = format!("{FACT}. Next comes the rest of the page.");
    let long = format!("{result} And a second sentence of its own that nobody has repeated so far, 99 words.");
    assert!(found(&[(Some(0), 1, &long), (None, 2, &first)], 4, &more).is_empty(), "27 bytes beside the sentence are no quotation");
    let whole = "And a second sentence of its own that nobody has repeated so far, 99 words.";
    assert_eq!(found(&[(Some(0), 1, &long), (None, 2, &first)], 4, whole), [0]);
}

#[test]
fn the_most_recent_of_two_results_counts() {
    assert_eq!(found(&[(Some(0), 1, FACT), (Some(1), 2, FACT)], 4, FACT), [1]);
    // The newer one came with this very request: its first use.
    assert!(found(&[(Some(0), 1, FACT), (Some(1), 4, FACT)], 4, FACT).is_empty());
}

#[test]
fn one_output_can_need_several_results() {
    let other = "while request 8 was sent at 09:41 with five stale results";
    let mut both = found(&[(Some(0), 1, FACT), (Some(1), 2, other)], 4, &format!("{FACT}; {other}"));
    both.sort_unstable();
    assert_eq!(both, [0, 1]);
}

#[test]
fn white_space_does_not_matter() {
    let spread = FACT.replace(' ', " \n\t\u{a0} ");
    assert_eq!(found(&[(Some(0), 1, &spread)], 2, FACT), [0]);
    assert!(found(&[(Some(0), 1, &FACT.replace(' ', ""))], 2, FACT).is_empty());
}

#[test]
fn characters_are_whole() {
    // 13 characters of 3 bytes are 39 bytes; the 14th begins with the same bytes in both texts and is another.
    let kana = "アイウエオカキクケコサシスセソ";
    let thirteen: String = kana.chars().take(13).collect();
    assert!(found(&[(Some(0), 1, &format!("{thirteen}セ"))], 2, &format!("{thirteen}ソ")).is_empty());
    let fourteen: String = kana.chars().take(14).collect();
    assert_eq!(found(&[(Some(0), 1, &format!("{fourteen}ソ"))], 2, &format!("{fourteen}セ")), [0]);
}

#[test]
fn pieces_of_different_values_do_not_join() {
    let (a, b) = FACT.split_at(24);
    assert!(found(&[(Some(0), 1, FACT)], 2, &format!("{a}\u{1f}{b}")).is_empty());
}

#[test]
fn parameters_are_parameters() {
    let options = NeedOptions { min_bytes: 12, min_distinct: 4, ..NeedOptions::default() };
    let mut quotations = Quotations::new(options);
    quotations.add_result(0, 0, "some result text");
    assert_eq!(quotations.needs(1, "-- result text"), [0]);
    assert!(quotations.needs(1, "-- result tex-").is_empty());
}

fn collapsed(text: &str) -> Vec<u8> {
    let blank = |text: &str| if text.is_empty() { String::new() } else { " ".to_owned() };
    let words: Vec<&str> = text.split_whitespace().collect();
    let (start, end) = (text.len() - text.trim_start().len(), text.trim_end().len());
    let tail = if words.is_empty() { String::new() } else { blank(&text[end..]) };
    (blank(&text[..start]) + &words.join(" ") + &tail).into_bytes()
}

#[test]
fn white_space_of_every_kind_becomes_one_blank() {
    let whites: String = (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| c.is_whitespace()).collect();
    let texts = ["", " ", "a", " a", "a ", "a  b\n\tc", "\u{2c0}\u{1680}é\u{3000}\u{3001}🗄\u{85}x", &format!("{whites}a{whites}b{whites}")];
    for text in texts {
        assert_eq!(collapse(text.to_owned()), collapsed(text), "{text:?}");
    }
}

/// The definition read aloud: every stretch against every block, most recent first.
fn slow(blocks: &[(Option<u32>, u32, String)], request: u32, output: &str, options: NeedOptions) -> Vec<u32> {
    let out = collapsed(output);
    let mut matches = Vec::new();
    for (index, (_, _, text)) in blocks.iter().enumerate() {
        let block = collapsed(text);
        for at in 0..out.len() {
            for start in 0..block.len() {
                if block[start] == out[at] && (start == 0 || at == 0 || block[start - 1] != out[at - 1]) {
                    let n = block[start..].iter().zip(&out[at..]).take_while(|(x, y)| x == y).count();
                    let whole = whole_characters(&out[at..at + n]);
                    if whole.len() >= options.min_bytes && distinct(whole, options.min_distinct) {
                        matches.push((index, at, at + n));
                    }
                }
            }
        }
    }
    matches.sort_by_key(|&(index, from, _)| (std::cmp::Reverse(index), from));
    let mut free = vec![true; out.len()];
    let mut needed = Vec::new();
    for (index, from, to) in matches {
        let enough = free[from..to].chunk_by(|a, b| a == b).scan(from, |at, run| {
            let range = *at..*at + run.len();
            *at += run.len();
            Some((run[0], range))
        });
        let mut qualifies = false;
        for (is_free, range) in enough {
            let whole = whole_characters(&out[range]);
            qualifies |= is_free && whole.len() >= options.min_bytes && distinct(whole, options.min_distinct);
        }
        if qualifies {
            free[from..to].fill(false);
            if let (Some(id), sent, _) = &blocks[index]
                && *sent < request
                && !needed.contains(id)
            {
                needed.push(*id);
            }
        }
    }
    needed.sort_unstable();
    needed
}

#[test]
fn fingerprints_find_what_an_exhaustive_search_finds() {
    let options = NeedOptions { min_bytes: 12, min_distinct: 5, ..NeedOptions::default() };
    let mut state = 11u64;
    let mut next = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut needs = 0;
    for _ in 0..300 {
        let mut blocks: Vec<(Option<u32>, u32, String)> = Vec::new();
        for i in 0..6u32 {
            let mut text: String = (0..20 + next(60)).map(|_| char::from(b'a' + next(20) as u8)).collect();
            if i > 0 && next(2) == 0 {
                let old: String = blocks[next(u64::from(i)) as usize].2.clone();
                let from = next(old.len() as u64) as usize;
                text.push_str(&old[from..(from + 25).min(old.len())]);
            }
            blocks.push(((next(3) > 0).then_some(i), i, text));
        }
        let mut output = String::new();
        for _ in 0..3 {
            let old = &blocks[next(6) as usize].2;
            let from = next(old.len() as u64) as usize;
            output.push_str(&old[from..(from + 10 + next(20) as usize).min(old.len())]);
            output.push_str("--");
        }
        let mut quotations = Quotations::new(options);
        for (id, sent, text) in &blocks {
            match id {
                Some(id) => quotations.add_result(*id, *sent, text),
                None => quotations.add_own(text),
            }
        }
        let mut fast = quotations.needs(6, &output);
        fast.sort_unstable();
        let expected = slow(&blocks, 6, &output, options);
        needs += expected.len();
        assert_eq!(fast, expected, "{blocks:?} {output}");
    }
    assert!(needs > 200, "the cases must hold needs: {needs}");
}
