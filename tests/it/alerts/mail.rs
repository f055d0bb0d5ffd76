//! E-mail, through the program that ships, to a server that speaks TLS.

use std::fs;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::support::{
    daemon::{Rig, Run, command},
    smtp::{Begin, Smtp},
};

async fn test_alert(rig: &Rig, smtp: &Smtp, trusted: bool) -> Run {
    let url = format!("smtp://oncall:p%40ss@127.0.0.1:{}", smtp.port);
    fs::write(rig.dir.path().join("smtp.url"), url).unwrap();
    let mut command = command(&rig.config(), &["test-alert"]);
    if trusted {
        command.env("SSL_CERT_FILE", &smtp.certificate);
    }
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    Run::of(&output)
}

async fn rig(tls: &str) -> Rig {
    Rig::new(&format!(
        "[[alerts.channels]]\nkind = \"email\"\nsmtp_url_file = \"smtp.url\"\n\
         from = \"redeliverd@example.com\"\nto = \"oncall@example.com\"\ntls = \"{tls}\"\n"
    ))
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_sent_over_tls_with_the_password_decoded() {
    for (tls, begin) in [("tls", Begin::Encrypted), ("starttls", Begin::Clear)] {
        let rig = rig(tls).await;
        let smtp = Smtp::start(rig.dir.path(), begin).await;
        let run = test_alert(&rig, &smtp, true).await;
        assert_eq!(run.code, 0, "{run:?}");
        let said = smtp.said();
        for line in [
            "MAIL FROM:<redeliverd@example.com>",
            "RCPT TO:<oncall@example.com>",
            "Subject: [redeliverd] TEST: test",
            "This is a test of the alert channels; nothing is wrong.",
            "Next: redeliverd status",
        ] {
            assert!(said.iter().any(|found| found.starts_with(line)), "{line}: {said:#?}");
        }
        let plain = STANDARD.encode("\0oncall\0p@ss");
        assert!(said.contains(&format!("AUTH PLAIN {plain}")), "{said:#?}");
    }
}

/// Nothing is said to a server that cannot prove who it is, the password least of all.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_certificate_is_refused() {
    let rig = rig("starttls").await;
    let smtp = Smtp::start(rig.dir.path(), Begin::Clear).await;
    let run = test_alert(&rig, &smtp, false).await;
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("email: failed: "), "{run:?}");
    assert!(run.stdout.contains("certificate"), "{run:?}");
    assert!(!run.stdout.contains("p@ss") && !run.stderr.contains("p@ss"), "{run:?}");
    assert!(smtp.said().is_empty());
}
