//! The `Link` header in all its spellings, and which links may be followed.

use http::{HeaderMap, HeaderValue, header::LINK};
use proptest::prelude::*;
use url::Url;

use crate::github::{
    GitHubError,
    pages::{self, Scope},
};

fn next(values: &[&str]) -> Option<String> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(LINK, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let request =
        Url::parse("https://ghe.example/api/v3/app/hook/deliveries?per_page=100").unwrap();
    pages::next(&headers, &request)
}

const NEXT: &str = "https://ghe.example/api/v3/app/hook/deliveries?cursor=v1_123%3D&per_page=100";

#[test]
fn the_next_link_is_found_in_every_legal_spelling() {
    for header in [
        "<N>; rel=\"next\"",
        "<N>;rel=next",
        "  <N>  ;  title=\"a, b; <c> \\\"d\\\"\" ; REL = \"prev  NEXT\"",
        "<https://ghe.example/a?b=1,2>; rel=\"prev\", <N>; rel=\"next\"",
        "<N>; rel=\"next\", <https://ghe.example/a>; rel=\"first\"",
        ", ,<N>; rel='next',",
        "<N>; flag; rel=\"next\"",
    ] {
        let header = header.replace('N', NEXT).replace(&format!("{NEXT}EXT"), "NEXT");
        assert_eq!(next(&[&header]).as_deref(), Some(NEXT), "{header}");
    }
    let two = ["<https://ghe.example/a>; rel=\"prev\"", &format!("<{NEXT}>; rel=\"next\"")];
    assert_eq!(next(&two).as_deref(), Some(NEXT));
    let comma = "<https://ghe.example/a?b=1,2;c>; rel=\"next\"";
    assert_eq!(next(&[comma]).as_deref(), Some("https://ghe.example/a?b=1,2;c"));
}

#[test]
fn a_relative_link_is_resolved_against_the_request() {
    let full = "https://ghe.example/api/v3/app/hook/deliveries?cursor=a%2Fb";
    assert_eq!(next(&["<?cursor=a%2Fb>; rel=next"]).as_deref(), Some(full));
    assert_eq!(
        next(&["</api/v3/app/hook/deliveries?cursor=a%2Fb>; rel=next"]).as_deref(),
        Some(full)
    );
    assert_eq!(next(&["<deliveries?cursor=a%2Fb>; rel=next"]).as_deref(), Some(full));
}

#[test]
fn without_a_next_link_the_log_ends() {
    assert_eq!(next(&[]), None);
    assert_eq!(next(&["<https://ghe.example/a>; rel=\"prev\""]), None);
    assert_eq!(next(&["<https://ghe.example/a>; rel=\"nextish\"; title=\"rel=next\""]), None);
    // Only the first `rel` of a link counts.
    assert_eq!(next(&["<https://ghe.example/a>; rel=prev; rel=next"]), None);
}

#[test]
fn an_unreadable_header_is_not_the_end_of_the_log() {
    let scope = Scope::new(&Url::parse("https://ghe.example/api/v3").unwrap());
    for header in [
        "https://ghe.example/a; rel=next",
        "<https://ghe.example/a",
        "<a>; rel=\"next",
        "<http://[>; rel=next",
    ] {
        let link = next(&[header]).expect(header);
        assert!(matches!(scope.admit(&link), Err(GitHubError::ForeignLink { .. })), "{header}");
    }
}

// A13
#[test]
fn only_the_apis_own_origin_and_path_are_admitted() {
    let scope = Scope::new(&Url::parse("https://ghe.example/api/v3").unwrap());
    for link in [
        NEXT,
        "https://GHE.example:443/api/v3/repositories/1/hooks/2/deliveries?cursor=v1_1",
        "https://ghe.example/api/v3",
    ] {
        scope.admit(link).expect(link);
    }
    assert_eq!(scope.admit(NEXT).unwrap().as_str(), NEXT);
    for link in [
        "http://ghe.example/api/v3/app",
        "https://ghe.example:8443/api/v3/app",
        "https://evil.example/api/v3/app",
        "https://ghe.example.evil.example/api/v3/app",
        "https://ghe.example@evil.example/api/v3/app",
        "https://user:pw@ghe.example/api/v3/app",
        "https://ghe.example/api/v31/app",
        "https://ghe.example/login",
        "https://ghe.example/api/v3/../../login",
        "https://ghe.example/api/v3/%2e%2E/%2e%2e/login",
        "https://ghe.example\\@evil.example/api/v3/app",
        "//ghe.example/api/v3/app",
        "/api/v3/app",
        "file:///api/v3/app",
        "",
    ] {
        assert!(matches!(scope.admit(link), Err(GitHubError::ForeignLink { .. })), "{link}");
    }
}

#[test]
fn a_refused_link_is_shown_without_user_and_query() {
    let scope = Scope::new(&Url::parse("https://api.github.com/").unwrap());
    let error = scope.admit("https://me:pw@evil.example/a?cursor=x#y").unwrap_err();
    assert_eq!(error, GitHubError::ForeignLink { link: "https://evil.example/a".to_owned() });
}

#[test]
fn endpoints_lie_below_the_base_path() {
    for (base, expected) in [
        ("https://api.github.com", "https://api.github.com/app/hook/deliveries"),
        ("https://ghe.example/api/v3", "https://ghe.example/api/v3/app/hook/deliveries"),
        ("https://ghe.example/api/v3/", "https://ghe.example/api/v3/app/hook/deliveries"),
        ("http://u:p@[::1]:8080/x?y#z", "http://[::1]:8080/x/app/hook/deliveries"),
    ] {
        let scope = Scope::new(&Url::parse(base).unwrap());
        assert_eq!(scope.endpoint("/app/hook/deliveries").as_str(), expected);
    }
}

proptest! {
    #[test]
    fn no_header_text_panics(text in "[<>;=\",\\\\ 'a-z/:?%\u{80}-\u{ff}]{0,80}") {
        let value = HeaderValue::from_bytes(text.as_bytes()).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(LINK, value);
        let request = Url::parse("https://h.example/a").unwrap();
        if let Some(link) = pages::next(&headers, &request) {
            let _ = Scope::new(&request).admit(&link);
        }
    }

    #[test]
    fn an_admitted_link_never_leaves_the_origin(link in "(https?://)?[a-z@:/\\\\.%?#]{0,40}") {
        let scope = Scope::new(&Url::parse("https://h.example/api").unwrap());
        if let Ok(url) = scope.admit(&link) {
            prop_assert_eq!(url.host_str(), Some("h.example"));
            prop_assert!(url.path().starts_with("/api"));
        }
    }
}
