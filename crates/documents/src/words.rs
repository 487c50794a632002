//! Words that hide the subject or the thing of a sentence, and their limits.

use std::collections::BTreeMap;

/// Words that count together, and the most times that all comments, texts and pages may have them.
pub struct LimitedWords {
    /// The words, in small letters. A word of several parts has one blank between them.
    pub words: &'static [&'static str],
    /// The limit: a tenth of the count before the prose was revised.
    pub most: usize,
}

/// The limits. Each word has a plainer one for the meaning at hand, such as "after" for "behind".
pub const LIMITED_WORDS: [LimitedWords; 5] = [
    LimitedWords {
        words: &["stand", "stands"],
        most: 55,
    },
    LimitedWords {
        words: &["tell", "tells", "told"],
        most: 40,
    },
    LimitedWords {
        words: &["nobody", "somebody", "whoever"],
        most: 24,
    },
    LimitedWords {
        words: &["behind"],
        most: 24,
    },
    LimitedWords {
        words: &["so many"],
        most: 15,
    },
];

/// Counts the words of a text, and each pair of neighbours with a blank between them.
pub fn count_words(text: &str, counts: &mut BTreeMap<String, usize>) {
    let lower = text.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let mut before = "";
    for word in words.filter(|word| !word.is_empty()) {
        *counts.entry(word.to_owned()).or_default() += 1;
        *counts.entry(format!("{before} {word}")).or_default() += 1;
        before = word;
    }
}

/// The comments and texts of a Rust source. Of a text, the names in braces are left out: a format
/// replaces them.
pub fn prose(source: &str) -> String {
    let mut prose = String::new();
    let mut rest = source;
    while let Some(at) = rest.find(['/', '"', '\'']) {
        let found = &rest[at..];
        let length = match found.as_bytes() {
            [b'/', b'/', ..] => {
                let comment = found.lines().next().unwrap_or_default();
                prose.push_str(comment.trim_start_matches(['/', '!']));
                // The next line of a comment continues the sentence.
                prose.push(' ');
                comment.len()
            }
            [b'"', ..] => {
                let hashes = raw_hashes(&rest[..at]);
                let length = text_length(found, hashes);
                prose.push_str(&without_names(&found[..length]));
                prose.push('\n');
                length
            }
            // A character; a lifetime has no second mark.
            [b'\'', b'\\', _, b'\'', ..] => 4,
            [b'\'', ..] => match found.char_indices().nth(2) {
                Some((end, '\'')) => end + 1,
                _ => 1,
            },
            _ => 1,
        };
        rest = &found[length..];
    }
    prose
}

/// The marks of a raw text that `before` ends with, or `None` if the text that follows is no raw
/// text.
fn raw_hashes(before: &str) -> Option<usize> {
    let start = before.trim_end_matches('#');
    start.ends_with('r').then_some(before.len() - start.len())
}

/// The length of a text with its quotes.
fn text_length(found: &str, raw_hashes: Option<usize>) -> usize {
    if let Some(hashes) = raw_hashes {
        let end = format!("\"{}", "#".repeat(hashes));
        let inside = found[1..].find(&end).unwrap_or(found.len() - 1);
        return (1 + inside + end.len()).min(found.len());
    }
    let mut escaped = false;
    for (at, letter) in found.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            _ => escaped = letter == '\\' && !escaped,
        }
    }
    found.len()
}

/// A text without the names in braces.
fn without_names(text: &str) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    for letter in text.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(letter),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str, word: &str) -> usize {
        let mut counts = BTreeMap::new();
        count_words(text, &mut counts);
        counts.get(word).copied().unwrap_or(0)
    }

    #[test]
    fn words_and_pairs_are_counted_whole() {
        let text = "Told so\nmany, untold, told_of: TOLD.";
        assert_eq!(count(text, "told"), 2);
        assert_eq!(count(text, "so many"), 1);
        assert_eq!(count(text, "many so"), 0);
    }

    #[test]
    fn comments_and_texts_are_prose_and_names_are_not() {
        let source = r##"
            /// So
            /// many.
            fn behind<'a>(behind: &'a str, quote: char) -> bool {
                let text = "behind \" {behind} behind"; // Behind it.
                let raw = r#"nobody " here"#;
                quote == '"' && quote != '\'' && behind == "stands"
            }
        "##;
        let prose = prose(source);
        assert_eq!(count(&prose, "behind"), 3, "{prose}");
        assert_eq!(count(&prose, "so many"), 1, "{prose}");
        assert_eq!(count(&prose, "nobody"), 1, "{prose}");
        assert_eq!(count(&prose, "stands"), 1, "{prose}");
        assert_eq!(count(&prose, "quote"), 0, "{prose}");
    }
}
