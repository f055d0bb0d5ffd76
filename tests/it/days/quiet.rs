//! The day on which nothing arrives at all.

use super::{Day, says};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_arrives_for_as_long_as_is_too_long() {
    let mut day = Day::new("silence_after = \"3s\"", "").await;
    day.rig.serve().await;
    day.arrival().await;
    day.only(&[]);
    let silent = day.fires("silence").await;
    says(
        &silent,
        &["nothing was delivered on hook demo since", "check that the webhook is active"],
    );
    assert!(silent["oldest"].is_string(), "{silent}");
    // Sweeps find nothing wrong: GitHub has sent nothing.
    assert_eq!(day.sweep().await["complete"], true);
    // Told once, over a restart too.
    day.rig.terminate().await;
    day.rig.serve().await;
    assert_eq!(day.found("silence").await["state"], "firing");
    assert_eq!(day.told("silence").len(), 1);

    day.arrival().await;
    day.rig
        .eventually("its end is told", async |_| {
            day.told("silence").iter().any(|told| told["state"] == "resolved")
        })
        .await;
    assert_eq!(day.told("silence").len(), 2, "once, and its end once");
    day.only(&["silence"]);
}

/// O28: what is no longer watched is told to be over, and leaves no series behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_leaves_the_configuration_takes_its_alerts_with_it() {
    let mut day = Day::new("silence_after = \"1s\"", "").await;
    day.rig.serve().await;
    day.fires("silence").await;
    day.rig.terminate().await;
    day.rig.edit_config("name = \"demo\"", "name = \"other\"");
    day.rig.serve().await;
    day.rig
        .eventually("its end is told", async |_| {
            let mut told = day.told("silence").into_iter();
            told.any(|told| told["hook"] == "demo" && told["state"] == "resolved")
        })
        .await;
    let (_, metrics) = day.rig.get("/metrics").await.unwrap();
    assert!(!metrics.as_str().unwrap().contains("hook=\"demo\""), "{metrics}");
    assert!(metrics.as_str().unwrap().contains("hook=\"other\""), "{metrics}");
}
