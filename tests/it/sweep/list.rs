//! `list`: how far it looks, and that it says so.

use std::slice;

use redeliverd::{
    clock::Clock,
    config::{self, Config, Env},
    report::{self, DEPTH, ListQuery},
};

use crate::support::{Bench, minutes};

fn config(bench: &Bench) -> Config {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config::from_str("", dir.path(), &Env::default()).unwrap().config;
    slice::from_ref(&bench.settings.hook).clone_into(&mut config.hooks);
    config
}

#[tokio::test]
async fn a_search_that_finds_little_ends_and_says_where() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    // All of history is excused by the adoption.
    bench.history(2_500, 502, bench.clock.now() - minutes(1));
    bench.sweep().await;
    let (config, now) = (config(&bench), bench.clock.now());
    let list = async |verdict: &str, depth| {
        let query =
            ListQuery { verdict: Some(verdict.to_owned()), limit: 9, depth, ..Default::default() };
        report::list(&bench.store, &config, &query, now).await.unwrap()
    };
    let shallow = list("settled", 2_000).await;
    assert!(shallow.deliveries.is_empty());
    // The 2,000th newest; they are a second apart.
    let end = now - minutes(1) - chrono::TimeDelta::seconds(1_999);
    assert_eq!(shallow.looked_back_to, Some(end));
    assert_eq!(list("settled", DEPTH).await.looked_back_to, None, "history is shorter");
    let full = list("excused", 1).await;
    assert_eq!((full.deliveries.len(), full.looked_back_to), (9, None));
    assert_eq!(list("waiting", 1).await.looked_back_to, None, "only what is open is looked at");
}
