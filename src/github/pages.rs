//! Where the next page is: reads the `Link` header, and decides which URLs may carry our credential.

use http::{HeaderMap, header};
use url::Url;

use super::error::GitHubError;

/// Stands for a `Link` header that cannot be read. It is no URL, so following it is refused: the
/// rows of the page are kept, and the pass still does not end as if it were complete.
const UNREADABLE: &str = "(unreadable Link header)";

/// The API's own origin and path prefix; nothing outside it is ever requested.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    base: Url,
}

impl Scope {
    /// `base` is the configured API URL; user info, query and fragment are no part of it.
    pub(super) fn new(base: &Url) -> Self {
        let mut base = base.clone();
        base.set_query(None);
        base.set_fragment(None);
        // Fails only for URLs without a host, which then never pass `admit`.
        let _ = base.set_username("");
        let _ = base.set_password(None);
        let path = base.path().trim_end_matches('/').to_owned();
        base.set_path(&path);
        Self { base }
    }

    /// The base as text, for messages.
    pub(super) fn shown(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// The URL of an endpoint; `path` begins with a slash and needs no escaping.
    pub(super) fn endpoint(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.prefix()));
        url
    }

    /// The URL of a link that GitHub gave, if it stays on scheme, host, port and path prefix.
    /// Dot segments are resolved before the check, exactly as they would be when sending.
    ///
    /// # Errors
    /// [`GitHubError::ForeignLink`] otherwise, and for what is no URL.
    pub(super) fn admit(&self, link: &str) -> Result<Url, GitHubError> {
        match Url::parse(link) {
            Ok(mut url) if self.holds(&url) => {
                url.set_fragment(None);
                Ok(url)
            }
            Ok(url) => {
                Err(foreign(&format!("{}{}", url.origin().ascii_serialization(), url.path())))
            }
            Err(_) => Err(foreign(link)),
        }
    }

    fn holds(&self, url: &Url) -> bool {
        let prefix = self.prefix();
        let path = url.path();
        let inside =
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        url.scheme() == self.base.scheme()
            && url.host().is_some()
            && url.host() == self.base.host()
            && url.port_or_known_default() == self.base.port_or_known_default()
            && url.username().is_empty()
            && url.password().is_none()
            && inside
    }

    fn prefix(&self) -> &str {
        self.base.path().trim_end_matches('/')
    }
}

fn foreign(link: &str) -> GitHubError {
    GitHubError::ForeignLink { link: super::scrub::scrub(link) }
}

/// The `rel="next"` link of an answer to `request`, made absolute; its percent-encoding is GitHub's.
/// Not checked yet: [`Scope::admit`] does that before anything is sent. `None` means that GitHub
/// names no next page.
pub(super) fn next(headers: &HeaderMap, request: &Url) -> Option<String> {
    let mut garbled = false;
    for value in headers.get_all(header::LINK) {
        let text = String::from_utf8_lossy(value.as_bytes());
        let mut rest = text.as_ref();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if rest.is_empty() {
                break;
            }
            let Some(link) = Link::parse(&mut rest) else {
                garbled = true;
                break;
            };
            if link.is_next {
                let url = request.join(link.target);
                return Some(url.map_or_else(|_| UNREADABLE.to_owned(), String::from));
            }
        }
    }
    garbled.then(|| UNREADABLE.to_owned())
}

struct Link<'a> {
    target: &'a str,
    is_next: bool,
}

impl<'a> Link<'a> {
    /// Takes `<target> *( ; name [= token | "quoted"] )` from the front of `rest` (RFC 8288).
    fn parse(rest: &mut &'a str) -> Option<Self> {
        let (target, mut tail) = rest.strip_prefix('<')?.split_once('>')?;
        let mut rel: Option<String> = None;
        loop {
            tail = tail.trim_start();
            if tail.is_empty() || tail.starts_with(',') {
                break;
            }
            tail = tail.strip_prefix(';')?.trim_start();
            let end = tail.find(['=', ';', ',']).unwrap_or(tail.len());
            let (name, after) = tail.split_at(end);
            tail = after;
            let mut value = String::new();
            if let Some(after) = tail.strip_prefix('=') {
                (value, tail) = param_value(after.trim_start())?;
            }
            // Only the first `rel` counts.
            if rel.is_none() && name.trim().eq_ignore_ascii_case("rel") {
                rel = Some(value);
            }
        }
        *rest = tail;
        let is_next = rel.is_some_and(|rel| {
            rel.trim_matches('\'').split_ascii_whitespace().any(|r| r.eq_ignore_ascii_case("next"))
        });
        Some(Self { target: target.trim(), is_next })
    }
}

/// A token or a quoted string, and what follows it. `None` for a quote that never closes.
fn param_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (token, rest) = text.split_at(text.find([';', ',']).unwrap_or(text.len()));
        return Some((token.trim().to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => return Some((value, chars.as_str())),
            '\\' => value.push(chars.next()?),
            c => value.push(c),
        }
    }
}
