//! Pages, cursors, filters, the window.

use std::{collections::BTreeSet, sync::Arc};

use chrono::TimeDelta;
use serde_json::Value;

use super::{super::Backfill, Stage, at, event, minutes, next};

fn ids(rows: &[Value]) -> Vec<i64> {
    rows.iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

fn fill(stage: &Stage, count: i64, code: u16) -> Vec<i64> {
    let event = Arc::new(event("push"));
    let newest = at("2026-11-02T09:59:00Z");
    let rows = (0..count).map(|n| Backfill::new(&event, newest - TimeDelta::seconds(n), code));
    stage.world.backfill(stage.hook, rows).into_iter().map(|(id, _)| id).collect()
}

#[tokio::test]
async fn a_hundred_and_one_rows_are_two_pages_newest_first() {
    let stage = Stage::new().await;
    let known = fill(&stage, 101, 200);
    let head = stage.get("/app/hook/deliveries?per_page=100").await;
    let link = next(&head).expect("a next page");
    assert!(link.starts_with(&format!(
        "{}/app/hook/deliveries?per_page=100&cursor=v1_",
        stage.github.base_url
    )));
    assert!(link.ends_with("%3D"));
    let first: Vec<Value> = head.json().await.unwrap();
    let tail = stage.get(&link).await;
    assert_eq!(next(&tail), None);
    let second: Vec<Value> = tail.json().await.unwrap();
    assert_eq!((first.len(), second.len()), (100, 1));
    assert_eq!([ids(&first), ids(&second)].concat(), known);
    assert_eq!(stage.world.counters().per_page, [100, 100]);
}

#[tokio::test]
async fn rows_that_come_in_while_paging_neither_shift_nor_hide_others() {
    let stage = Stage::new().await;
    let known: BTreeSet<i64> = fill(&stage, 250, 200).into_iter().collect();
    let mut seen = Vec::new();
    let mut url = Some("/app/hook/deliveries?per_page=100".to_owned());
    while let Some(page) = url {
        let response = stage.get(&page).await;
        url = next(&response);
        seen.extend(ids(&response.json::<Vec<Value>>().await.unwrap()));
        stage.world.emit(stage.hook, event("issues")).await;
    }
    assert_eq!(seen.len(), 250);
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), known);
}

#[tokio::test]
async fn the_page_size_is_thirty_unless_asked_and_never_above_a_hundred() {
    let stage = Stage::new().await;
    fill(&stage, 120, 200);
    assert_eq!(stage.rows("/app/hook/deliveries").await.len(), 30);
    assert_eq!(stage.rows("/app/hook/deliveries?per_page=500").await.len(), 100);
    assert_eq!(stage.rows("/app/hook/deliveries?per_page=0").await.len(), 30);
}

#[tokio::test]
async fn the_failure_filter_leaves_redirects_and_unknown_codes_out() {
    let stage = Stage::new().await;
    for code in [200, 302, 404, 503] {
        fill(&stage, 1, code);
    }
    let unknown = Backfill {
        code: None,
        ..Backfill::new(&Arc::new(event("push")), at("2026-11-02T09:00:00Z"), 200)
    };
    stage.world.backfill(stage.hook, [unknown]);
    let codes =
        |rows: Vec<Value>| rows.iter().map(|r| r["status_code"].as_i64()).collect::<BTreeSet<_>>();
    assert_eq!(
        codes(stage.rows("/app/hook/deliveries?status=failure").await),
        BTreeSet::from([Some(404), Some(503)])
    );
    assert_eq!(
        codes(stage.rows("/app/hook/deliveries?status=success").await),
        BTreeSet::from([Some(200), Some(302)])
    );
    assert_eq!(stage.rows("/app/hook/deliveries").await.len(), 5);
}

#[tokio::test]
async fn rows_leave_list_and_detail_after_three_days() {
    let stage = Stage::new().await;
    let id = *fill(&stage, 1, 503).first().unwrap();
    stage.clock.advance(TimeDelta::days(3) - minutes(2));
    assert_eq!(stage.rows("/app/hook/deliveries").await.len(), 1);
    stage.clock.advance(minutes(2));
    assert!(stage.rows("/app/hook/deliveries").await.is_empty());
    assert_eq!(stage.get(&format!("/app/hook/deliveries/{id}")).await.status(), 404);
    assert_eq!(stage.redeliver(id).await.status(), 404);
    assert_eq!(stage.world.attempts(stage.hook).len(), 1);
}

#[tokio::test]
async fn a_page_may_mix_tiny_and_huge_ids() {
    // L1, L3
    let stage = Stage::new().await;
    let event = Arc::new(event("push"));
    let row = |id| Backfill::new(&event, at("2026-11-02T09:00:00Z"), 503).id(id);
    stage.world.backfill(stage.hook, [17, 3_800_000_000_000_000_123, i64::MAX].map(row));
    let rows = stage.rows("/app/hook/deliveries").await;
    assert_eq!(ids(&rows), [i64::MAX, 3_800_000_000_000_000_123, 17]);
}

#[tokio::test]
async fn ids_carry_the_second_of_the_attempt_and_grow_while_the_clock_stands() {
    let stage = Stage::new().await;
    for _ in 0..3 {
        stage.world.emit(stage.hook, event("push")).await;
    }
    let rows = stage.world.attempts(stage.hook);
    let second = at("2026-11-02T10:00:00Z").timestamp();
    assert!(rows.iter().all(|row| row.id >> 31 == second && (row.id >> 21) & 1023 == 250));
    assert!(rows.is_sorted_by(|newer, older| newer.id > older.id));
}

#[tokio::test]
async fn a_hundred_thousand_rows_of_history_can_be_walked_to_the_end() {
    let stage = Stage::new().await;
    fill(&stage, 100_000, 200);
    let mut pages = 0;
    let mut url =
        Some("/app/hook/deliveries?per_page=100&cursor=v1_9000000000000000000".to_owned());
    while let Some(page) = url.filter(|_| pages < 20) {
        url = next(&stage.get(&page).await);
        pages += 1;
    }
    assert_eq!(pages, 20);
    let last = stage.world.attempts(stage.hook).last().unwrap().id;
    let tail = stage.get(&format!("/app/hook/deliveries?cursor=v1_{}", last + 1)).await;
    assert_eq!(next(&tail), None);
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let stage = Stage::new().await;
    let answer = stage.get("/app/hook/deliveries?cursor=banana").await;
    assert_eq!(answer.status(), 422);
}
