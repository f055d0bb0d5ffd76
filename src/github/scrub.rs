//! Makes text from outside fit to store, log and show: URLs lose what may be secret, the rest is bounded.

/// Characters kept of a text, at most.
const MAX_CHARS: usize = 300;

/// GitHub's text without user info, query and fragment of the URLs and paths in it, without control
/// characters, and no longer than 300 characters.
///
/// GitHub's status texts quote the webhook URL of the receiver, which often carries a token. In doubt
/// more is removed: a query ends at white space only, and an authority that cannot be understood goes.
#[must_use]
pub fn scrub(text: &str) -> String {
    if text.len() <= MAX_CHARS && !text.contains('/') && !text.contains(char::is_control) {
        return text.to_owned();
    }
    let words: Vec<String> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).map(scrub_word).collect();
    bounded(&words.join(" "), MAX_CHARS)
}

/// The first `max` characters, with a sign when something was cut.
pub(super) fn bounded(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
    }
}

fn scrub_word(word: &str) -> String {
    let Some((before, rest)) = word.split_once("://") else {
        let opened = word.trim_start_matches(['"', '\'', '(', '<', '[', '`', '=']);
        return if opened.starts_with('/') { without_query(word) } else { word.to_owned() };
    };
    format!("{}://{}", without_query(before), without_user(rest))
}

/// Cuts at the first `?` or `#`, but keeps the punctuation that closes the word.
fn without_query(word: &str) -> String {
    let Some((kept, cut)) = word.split_once(['?', '#']) else { return word.to_owned() };
    let tail = cut.get(cut.trim_end_matches(closes).len()..).unwrap_or_default();
    format!("{kept}{tail}")
}

/// The part after `://` without user info and query.
fn without_user(rest: &str) -> String {
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // A later `@` may end a password that has a slash or a question mark in it.
    if is_host(host.trim_end_matches(closes)) && !path.contains('@') {
        without_query(&format!("{host}{path}"))
    } else {
        "…".to_owned()
    }
}

/// `name`, `name:port`, `[address` or `[address]:port`; another colon may precede a password.
fn is_host(text: &str) -> bool {
    let port = match text.rsplit_once(']') {
        Some((_, after)) => after.strip_prefix(':').unwrap_or(after),
        None if text.starts_with('[') => "",
        None => text.split_once(':').map_or("", |(_, port)| port),
    };
    port.bytes().all(|b| b.is_ascii_digit())
}

/// Punctuation that ends a word rather than belonging to it.
fn closes(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | '>' | ']' | '`' | ':' | ',' | ';' | '.')
}
