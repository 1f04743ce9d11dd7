//! Events: reading them, and who is told of them.
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::Config;
use crate::outbox::lines;
use crate::outbox::signing::SigningSecret;
use crate::outbox::subscribing::{NewSubscription, subscribe};
use crate::store::database::Store;
use crate::store::{deliveries, events};
use serde_json::Value;
use tokio::time::interval;

use crate::arguments::{EventsCommand, Subscribe, Tail};
use crate::commands::failure::Failure;

/// How often the outbox is looked at for more.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Events that are read at one time.
const BATCH: u32 = 500;

/// Does what the command line says.
pub(crate) async fn run(file: Option<&Path>, command: EventsCommand) -> Result<(), Failure> {
    let store = Store::open(&Config::load(file)?.store.url).await?;
    match command {
        EventsCommand::Tail(tail) => follow(&store, &tail).await,
        EventsCommand::List => {
            let all = deliveries::all(&store).await?;
            let all: Vec<Value> = all.iter().map(lines::subscription).collect();
            println!("{:#}", Value::from(all));
            Ok(())
        }
        EventsCommand::Subscribe(wanted) => {
            subscribe(&store, &new(wanted)?).await?;
            Ok(())
        }
        EventsCommand::Remove { name } => {
            let mut change = store.begin().await?;
            let was_there = deliveries::remove(change.connection(), &name).await?;
            change.commit(|| ()).await?;
            if was_there { Ok(()) } else { Err(Failure::NoSubscription(name)) }
        }
    }
}

fn new(wanted: Subscribe) -> Result<NewSubscription, Failure> {
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
    })
}

/// Prints events as lines of JSON, those that come later, too.
async fn follow(store: &Store, tail: &Tail) -> Result<(), Failure> {
    let mut seq = tail.after;
    let mut ticks = interval(LOOK_AGAIN);
    loop {
        let batch = match &tail.client {
            Some(client) => deliveries::events_of(store, client, seq, BATCH).await?,
            None => events::after(store, seq, BATCH).await?,
        };
        let mut out = io::stdout().lock();
        for event in &batch {
            if let Err(reason) = writeln!(out, "{}", lines::line(event)).and_then(|()| out.flush())
            {
                // Whoever read has had enough.
                return if reason.kind() == io::ErrorKind::BrokenPipe {
                    Ok(())
                } else {
                    Err(Failure::Print(reason))
                };
            }
            seq = event.seq;
        }
        drop(out);
        if batch.len() < BATCH as usize {
            if tail.once {
                return Ok(());
            }
            ticks.tick().await;
        }
    }
}
