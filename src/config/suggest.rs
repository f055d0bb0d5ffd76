//! "Did you mean": the known word nearest to a mistyped one.

/// A hint that names the nearest of `known`; `None` when nothing is near.
pub(super) fn did_you_mean(word: &str, known: &[&str]) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean `{near}`?"))
}

/// The nearest word within a third of its length, in edits.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .filter(|(edits, candidate)| *edits <= candidate.len().div_ceil(3))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance. Long words are cut, so that hostile input costs nothing.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, from) in left.chars().take(64).enumerate() {
        let mut next = vec![line + 1];
        let mut before = line + 1;
        for (to, (diagonal, above)) in right.iter().zip(row.iter().zip(row.iter().skip(1))) {
            before = (diagonal + usize::from(from != *to)).min(above + 1).min(before + 1);
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_within_a_third_is_suggested() {
        let known = ["max_pages", "max_requests", "settle"];
        assert_eq!(nearest("max_page", &known), Some("max_pages"));
        assert_eq!(nearest("setle", &known), Some("settle"));
        assert_eq!(nearest("banana", &known), None);
        assert_eq!(nearest("", &known), None);
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
