//! A disk that is full, or takes no writes, and is well again.
use serde_json::json;
use sqlx::Executor;

use crate::answer::Answer;
use crate::harness::{Asker, Stage};
use crate::tab::Tab;

/// Says something to the writer's connection, in a change that is given up.
async fn tell(stage: &Stage, pragma: &'static str) {
    let mut change = stage.app.store().begin().await.unwrap();
    change.connection().execute(pragma).await.unwrap();
}

/// Links users with long names, which need pages of their own soon.
async fn write(asker: &Asker, number: usize) -> Answer {
    let user = format!("{number}-{}", "x".repeat(200));
    let scopes = json!({ "scopes": ["vehicle:read:data"] });
    asker.post(&format!("/users/{user}/link"), Some(&scopes)).await
}

async fn ready(asker: &Asker) -> Answer {
    asker.get("/health/ready").await
}

#[tokio::test]
async fn a_full_disk_is_told_and_forgotten_when_there_is_room_again() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mut refused = 0;
    for round in 0..5 {
        // As many pages as there are, on this connection.
        tell(&stage, "pragma max_page_count = 1").await;
        for number in 0..50 {
            let answer = write(&asker, round * 1000 + number).await;
            if answer.status == 503 {
                assert_eq!(answer.title(), "Service Unavailable");
                assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0);
                refused += 1;
                break;
            }
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
    }
    assert_eq!(refused, 5);
    tell(&stage, "pragma max_page_count = 1000000").await;
    for number in 10_000..10_100 {
        let answer = write(&asker, number).await;
        assert_eq!(answer.status, 200, "{number}: {}", answer.body);
    }
    assert_eq!(ready(&asker).await.status, 200);
}

#[tokio::test]
async fn a_service_whose_writes_fail_is_not_ready_until_they_succeed() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    assert_eq!(ready(&asker).await.status, 200);
    let fails = "create trigger fails before insert on settings begin
         select raise(abort, 'no room'); end";
    stage.app.store().reader().execute(fails).await.unwrap();
    // While changes are made nobody tries to write.
    assert_eq!(write(&asker, 1).await.status, 200);
    assert_eq!(ready(&asker).await.status, 200);
    drop(stage.app.store().begin().await.unwrap());
    for _ in 0..2 {
        let answer = ready(&asker).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
        assert_eq!(answer.body["detail"], "the database does not take writes");
    }
    stage.app.store().reader().execute("drop trigger fails").await.unwrap();
    assert_eq!(ready(&asker).await.status, 200);
}

#[tokio::test]
async fn a_link_page_that_cannot_be_kept_says_when_to_come_again() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let link = write(&asker, 1).await;
    let mut tab = Tab::at(&stage, link.body["linkUrl"].as_str().unwrap());
    let page = tab.open().await;
    tell(&stage, "pragma query_only = on").await;
    let refused = tab.send(&page, &[("vendor", "FJORD")]).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, "5"));
    assert!(refused.says("try again"), "{}", refused.html);
    // The connection that failed is closed, and the next one writes.
    assert_eq!(tab.send(&refused, &[("vendor", "FJORD")]).await.status, 303);
}
