//! News of devices: those that a manufacturer tells of are polled at once.
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::select;
use tokio::task::{JoinError, JoinSet};

use crate::state::App;
use slackwater_integration::news::News;
use slackwater_integration::profile::VendorCode;

/// Has the devices polled that the manufacturers of an environment tell of, until the task is dropped.
pub(crate) async fn follow_news(app: &App) {
    loop {
        let mut following = JoinSet::new();
        for vendor in app.vendors() {
            let Some(news) = vendor.news() else { continue };
            following.spawn(pass_news_on(app.clone(), vendor.profile().code.clone(), news));
        }
        select! {
            () = app.wait_for_vendors() => {}
            Some(Err(failure)) = following.join_next() => raise_panic(failure),
        }
    }
}

/// Polls each device of a manufacturer that has news.
async fn pass_news_on(app: App, vendor: VendorCode, news: Arc<News>) {
    loop {
        news.wait_for_news().await;
        news.take_each(|device| {
            let ids = app.cache().read(|tables| tables.devices_called(&vendor, device));
            for id in ids {
                app.poller().note_news(id, app.now());
            }
        });
    }
}

/// Panics as a task did, so that all is begun again.
fn raise_panic(failure: JoinError) {
    if failure.is_panic() {
        resume_unwind(failure.into_panic());
    }
}
