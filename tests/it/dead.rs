//! Dead letters whose hook has left the configuration.

use serde_json::Value;

use crate::support::{
    application::{Answer, Application},
    daemon::Rig,
};

fn letters(list: &Value) -> Vec<(&str, &str, bool)> {
    list["dead"]
        .as_array()
        .unwrap()
        .iter()
        .map(|letter| {
            let (hook, guid) = (&letter["hook"], &letter["guid"]);
            let configured = letter["configured"].as_bool().unwrap();
            (hook.as_str().unwrap(), guid.as_str().unwrap(), configured)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dead_letters_of_a_hook_no_longer_configured_are_seen_and_can_be_settled() {
    let application = Application::start().await;
    application.answers(|_, _| Answer::status(410));
    let forward = format!("[hooks.forward]\nurl = \"{}\"", application.url());
    let mut rig = Rig::new(&forward).await;
    rig.serve().await;
    let mut guids = Vec::new();
    for _ in 0..3 {
        let event = rig.next_event();
        guids.push(rig.world.emit(rig.hook, event).await);
    }
    rig.eventually("all are dead", async |rig| {
        letters(&rig.run(&["dead", "list", "--json"]).await.json()).len() == 3
    })
    .await;
    let listed = rig.run(&["dead", "list", "--json"]).await.json();
    assert!(letters(&listed).iter().all(|(hook, _, configured)| *hook == "demo" && *configured));
    assert_eq!(rig.terminate().await, Some(0));

    rig.edit_config("name = \"demo\"", "name = \"renamed\"");
    let listed = rig.run(&["dead", "list", "--json"]).await.json();
    let expected: Vec<_> = guids.iter().map(|guid| ("demo", guid.as_str(), false)).collect();
    assert_eq!(letters(&listed), expected);
    let of_demo = rig.run(&["dead", "list", "--hook", "demo", "--json"]).await.json();
    assert_eq!(letters(&of_demo), expected);
    let shown = rig.run(&["dead", "list"]).await.stdout;
    assert_eq!(shown.matches("demo (not configured)").count(), 3, "{shown}");

    // Nobody would hand it over, so it is not left waiting for ever.
    let requeue = rig.run(&["dead", "requeue", &guids[0]]).await;
    assert_eq!(requeue.code, 2, "{requeue:?}");
    assert!(requeue.stderr.contains("hook demo is not configured"), "{requeue:?}");
    let all = rig.run(&["dead", "requeue", "--all"]).await;
    assert_eq!((all.code, all.stdout.trim()), (0, "0 requeued"), "{all:?}");
    assert!(all.stderr.contains("left dead: hook demo is not configured"), "{all:?}");
    let absent = rig.run(&["dead", "list", "--hook", "nobody"]).await;
    assert_eq!(absent.code, 2, "{absent:?}");

    let discard = rig.run(&["dead", "discard", &guids[0]]).await;
    assert_eq!((discard.code, discard.stdout.trim()), (0, "1 discarded"), "{discard:?}");
    let left = rig.run(&["dead", "list", "--json"]).await.json();
    assert_eq!(letters(&left), expected[1..]);

    // Configured again, it is what it was.
    rig.edit_config("name = \"renamed\"", "name = \"demo\"");
    let requeue = rig.run(&["dead", "requeue", &guids[1]]).await;
    assert_eq!((requeue.code, requeue.stdout.trim()), (0, "1 requeued"), "{requeue:?}");

    // And without a way to the application it would wait for ever again.
    rig.edit_config(&forward, "");
    let requeue = rig.run(&["dead", "requeue", &guids[2]]).await;
    assert_eq!(requeue.code, 2, "{requeue:?}");
    assert!(requeue.stderr.contains("hook demo has no [hooks.forward]"), "{requeue:?}");
    let discard = rig.run(&["dead", "discard", "--all"]).await;
    assert_eq!((discard.code, discard.stdout.trim()), (0, "1 discarded"), "{discard:?}");
}

/// Over HTTP as on the command line.
#[tokio::test(flavor = "multi_thread")]
async fn the_running_daemon_lets_go_of_dead_letters_of_a_hook_that_a_reload_took_away() {
    let application = Application::start().await;
    application.answers(|_, _| Answer::status(410));
    let forward = format!("[hooks.forward]\nurl = \"{}\"", application.url());
    let mut rig = Rig::new(&forward).await;
    rig.serve().await;
    let event = rig.next_event();
    let guid = rig.world.emit(rig.hook, event).await;
    rig.eventually("it is dead", async |rig| {
        rig.get("/api/v1/dead").await.is_some_and(|(_, list)| letters(&list).len() == 1)
    })
    .await;
    let http = reqwest::Client::new();
    let post = async |path: &str| {
        let url = format!("http://{}/api/v1{path}", rig.admin);
        let answer = http.post(url).bearer_auth("the admin token of a test").send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    rig.edit_config("name = \"demo\"", "name = \"renamed\"");
    assert_eq!(post("/reload").await.0, 200);
    let (_, list) = rig.get("/api/v1/dead?hook=demo").await.unwrap();
    assert_eq!(letters(&list), [("demo", guid.as_str(), false)]);
    assert_eq!(rig.get("/api/v1/dead?hook=nobody").await.unwrap().0, 404);
    let (code, refused) = post(&format!("/deliveries/demo/{guid}/requeue")).await;
    assert_eq!((code, refused["error"].is_string()), (404, true), "{refused}");
    assert_eq!(post(&format!("/deliveries/nobody/{guid}/discard")).await.0, 404);
    let (code, done) = post(&format!("/deliveries/demo/{guid}/discard")).await;
    assert_eq!((code, &done["status"]), (200, &"discarded".into()), "{done}");
    let (code, _) = post(&format!("/deliveries/demo/{guid}/discard")).await;
    assert_eq!(code, 409, "it is none any more");
    let (_, list) = rig.get("/api/v1/dead").await.unwrap();
    assert_eq!(letters(&list), []);
}
