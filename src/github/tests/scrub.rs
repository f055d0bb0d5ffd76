//! What text from outside must not keep.

use proptest::prelude::*;

use crate::github::scrub;

#[test]
fn urls_lose_what_may_be_secret() {
    for (text, expected) in [
        ("OK", "OK"),
        ("failed to connect to host", "failed to connect to host"),
        (
            "Post \"https://me:pw@hooks.example:8443/in?token=s3cret#x\": dial tcp 10.0.0.1:8443: refused",
            "Post \"https://hooks.example:8443/in\": dial tcp 10.0.0.1:8443: refused",
        ),
        ("see https://docs.github.com/rest.", "see https://docs.github.com/rest."),
        ("at http://[::1]:80/a?b)", "at http://[::1]:80/a)"),
        ("at http://[::1]/a", "at http://[::1]/a"),
        ("GET \"/hook?token=s3cret\" failed", "GET \"/hook\" failed"),
        ("to https://h.example:443/a?b: EOF", "to https://h.example:443/a: EOF"),
        ("url=https://u:p@h.example/?q=1,x", "url=https://h.example/"),
        ("url=https://h.example/?q=1,https://v:w@i.example", "url=https://…"),
        ("via https://proxy.example/https://u:p@h.example/a", "via https://…"),
        // A password with a slash: the authority cannot be understood.
        ("https://user:s3/cret@h.example/", "https://…"),
        ("https://user:s3?cret@h.example/", "https://…"),
        ("two\nlines\tand\u{0}nul", "two lines and nul"),
    ] {
        assert_eq!(scrub(text), expected);
    }
}

#[test]
fn long_text_is_cut_at_a_character() {
    assert_eq!(scrub(&"é".repeat(300)), "é".repeat(300));
    assert_eq!(scrub(&"é".repeat(301)), format!("{}…", "é".repeat(300)));
}

proptest! {
    #[test]
    fn scrubbed_text_is_one_bounded_line(text in any::<String>()) {
        let scrubbed = scrub(&text);
        prop_assert!(scrubbed.chars().count() <= 301);
        prop_assert!(!scrubbed.contains(char::is_control));
    }

    #[test]
    fn no_secret_of_a_url_survives(
        user in "[a-z:/?#]{0,6}SECRET[a-z:/?#]{0,6}", path in "[a-z/]{0,9}", lead in "[a-z(\"=]{0,3}",
    ) {
        let as_password = scrub(&format!("{lead}https://me:{user}@h.example/{path} tail"));
        prop_assert!(!as_password.contains("SECRET"), "{as_password}");
        let as_query = scrub(&format!("{lead}https://h.example/{path}?t={user}: tail"));
        prop_assert!(!as_query.contains("SECRET"), "{as_query}");
    }
}
