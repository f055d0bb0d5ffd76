//! Whether an answer repeats the event that it answers to, so that keeping it would keep the payload.

use std::collections::HashSet;

/// Bytes in a row that no answer shares with an event by accident.
const PIECE: usize = 24;

/// Whether `said` has a longer run of bytes of `body`, as it is or as a string within JSON. Many
/// applications show what they got when they fail.
pub(super) fn repeats(said: &[u8], body: &[u8]) -> bool {
    let unescaped: Vec<u8> = said.iter().copied().filter(|byte| *byte != b'\\').collect();
    let pieces: HashSet<&[u8]> = said.windows(PIECE).chain(unescaped.windows(PIECE)).collect();
    // A run of twice the length holds a whole piece of the body, wherever it begins.
    !pieces.is_empty() && body.chunks_exact(PIECE).any(|piece| pieces.contains(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "{\"action\":\"opened\",\"issue\":{\"title\":\"it does not build here\"},\
                        \"repository\":{\"full_name\":\"acme/widgets\",\"private\":true}}";

    #[test]
    fn an_answer_that_shows_the_event_is_told_from_one_that_does_not() {
        let escaped = BODY.replace('"', "\\\"");
        let table = [
            ("", false),
            ("no", false),
            ("{\"error\":\"the queue is full, try again later\"}", false),
            ("no handler for issues.opened of acme/widgets", false),
            (BODY, true),
            (&format!("cannot parse: {BODY}"), true),
            (&format!("{{\"received\":\"{escaped}\"}}"), true),
            (&BODY[7..7 + 2 * PIECE], true),
        ];
        for (said, expected) in table {
            assert_eq!(repeats(said.as_bytes(), BODY.as_bytes()), expected, "{said}");
        }
        assert!(!repeats(b"no", b""));
    }
}
