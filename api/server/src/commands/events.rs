//! Events: reading them, and who is told of them.
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::Method;
use form_urlencoded::Serializer;
use serde::Deserialize;
use serde_json::{Value, json};
use slackwater_service::config::Config;
use slackwater_service::outbox::lines;
use slackwater_service::outbox::subscribing::{check_events, subscribe};
use slackwater_store::database::Store;
use slackwater_store::signing::SigningSecret;
use slackwater_store::subscription::NewSubscription;
use slackwater_store::{deliveries, events};
use tokio::time::interval;

use crate::commands::arguments::{EventsCommand, Kept, Subscribe, Tail};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, path_segment};
use crate::commands::output::print;

/// Interval between two looks at the outbox for more.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Events that are read at one time.
const BATCH: u32 = 500;

/// Runs a command about events, at a running server or in the database.
pub(crate) async fn run_events_command(
    file: Option<&Path>,
    line: Kept<EventsCommand>,
) -> Result<(), Failure> {
    if line.store {
        return run_in_store(file, line.command).await;
    }
    let operator = Operator::connect(&line.server, file)?;
    let path = "events/subscriptions";
    match line.command {
        EventsCommand::Tail(tail) => print_events(Source::Server(&operator), &tail).await,
        EventsCommand::List => operator.print_answer(Method::GET, path, Body::default()).await,
        EventsCommand::Subscribe(wanted) => {
            let new = Body::json(&json!(subscription_of(wanted)?));
            operator.print_answer(Method::POST, path, new).await
        }
        EventsCommand::Remove { name } => {
            let path = format!("{path}/{}", path_segment(&name));
            operator.print_answer(Method::DELETE, &path, Body::default()).await
        }
    }
}

async fn run_in_store(file: Option<&Path>, command: EventsCommand) -> Result<(), Failure> {
    let config = Config::load(file)?;
    let settings = config.store;
    let store = Store::open_existing(&settings.url).await?.with_keys(settings.keys);
    match command {
        EventsCommand::Tail(tail) => print_events(Source::Store(&store), &tail).await,
        EventsCommand::List => {
            let all = deliveries::all_subscriptions(&store).await?;
            let all: Vec<Value> = all.iter().map(lines::subscription).collect();
            print(&format!("{:#}", Value::from(all)))
        }
        EventsCommand::Subscribe(wanted) => {
            let new = subscription_of(wanted)?;
            check_events(&config.events, &new)?;
            subscribe(&store, &new).await?;
            print(&format!("{:#}", json!({ "subscribed": new.name })))
        }
        EventsCommand::Remove { name } => {
            let mut change = store.begin().await?;
            let was_there = deliveries::delete_subscription(change.connection(), &name).await?;
            change.commit(|| ()).await?;
            if !was_there {
                return Err(Failure::NoSubscription(name));
            }
            print(&format!("{:#}", json!({ "removed": name })))
        }
    }
}

/// Source of events.
enum Source<'a> {
    Server(&'a Operator),
    Store(&'a Store),
}

impl Source<'_> {
    /// Events after `seq` as lines of JSON, and the number of the last.
    async fn read_after(&self, tail: &Tail, seq: i64) -> Result<(Vec<String>, i64), Failure> {
        match self {
            Self::Server(operator) => {
                let mut query = Serializer::new(String::new());
                query.append_pair("after", &seq.to_string());
                query.append_pair("limit", &BATCH.to_string());
                if let Some(client) = &tail.client {
                    query.append_pair("client", client);
                }
                let path = format!("events?{}", query.finish());
                let answer = operator.read_answer(Method::GET, &path, Body::default()).await?;
                let page: Page = serde_json::from_str(&answer)
                    .map_err(|at| Failure::Json { what: "the events", at })?;
                Ok((page.events.iter().map(Value::to_string).collect(), page.last))
            }
            Self::Store(store) => {
                let batch = match &tail.client {
                    Some(client) => {
                        deliveries::client_events_after(store, client, seq, BATCH).await?
                    }
                    None => events::events_after(store, seq, BATCH).await?,
                };
                let last = batch.last().map_or(seq, |event| event.seq);
                Ok((batch.iter().map(|event| lines::line(event).to_string()).collect(), last))
            }
        }
    }
}

/// Events as the operators' address answers them.
#[derive(Deserialize)]
struct Page {
    events: Vec<Value>,
    last: i64,
}

fn subscription_of(wanted: Subscribe) -> Result<NewSubscription, Failure> {
    let text =
        |file: PathBuf| fs::read_to_string(&file).map_err(|reason| Failure::Read { file, reason });
    let secret = wanted.secret_file.map(text).transpose()?;
    let secret = secret.map(|text| text.parse::<SigningSecret>()).transpose()?;
    Ok(NewSubscription {
        name: wanted.name,
        client: wanted.client,
        url: wanted.url,
        version: wanted.version,
        events: wanted.events,
        template: wanted.template.map(text).transpose()?,
        secret,
        secret_file: None,
    })
}

/// Prints events as lines of JSON, those that come later, too.
async fn print_events(source: Source<'_>, tail: &Tail) -> Result<(), Failure> {
    let mut seq = tail.after;
    let mut ticks = interval(LOOK_AGAIN);
    loop {
        let (lines, last) = source.read_after(tail, seq).await?;
        for line in &lines {
            print(line)?;
        }
        seq = last;
        if lines.len() < BATCH as usize {
            if tail.once {
                return Ok(());
            }
            ticks.tick().await;
        }
    }
}
