//! Task of one connection: frames in, frames out, time in between.
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{SinkExt, StreamExt};
use metrics::{counter, gauge};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message};
use tracing::{info, warn};

use crate::edge::files::Kept;
use crate::edge::hub::Hub;
use crate::edge::news::{ToldState, tell_all};
use crate::edge::point::{Order, Point};
use crate::edge::upstream::{News, Upstream};
use crate::facts::Reply;
use crate::messages::Sender;
use crate::relay::machine::{Parts, Relay, RelayStep};
use crate::session::Ticket;
use crate::version::Version;

/// Interval at which a connection looks at the time.
const TICK: Duration = Duration::from_secs(1);

/// Longest time for which meter values are in memory only. A register goes on after a restart, so
/// that no energy is lost with them.
const SAVE_AFTER: TimeDelta = TimeDelta::seconds(60);

/// Pings without a sign of life after which a connection counts as dead.
const PINGS_MAX: i64 = 3;

/// State of the task.
struct Connection {
    /// Number of the connection.
    number: u64,
    hub: Arc<Hub>,
    point: Arc<Point>,
    relay: Relay,
    upstream: Upstream,
    told: ToldState,
    replies: HashMap<Ticket, oneshot::Sender<Reply>>,
    last_ticket: Ticket,
    saved_at: DateTime<Utc>,
    pinged_at: DateTime<Utc>,
    alive_at: DateTime<Utc>,
    ticked_at: DateTime<Utc>,
}

/// Serves a charge point until it leaves, falls silent, or connects anew.
pub async fn serve_point<S: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<S>,
    hub: Arc<Hub>,
    point: Arc<Point>,
    version: Version,
) {
    let number = hub.next_link();
    let mut orders = point.connect(number);
    let now = hub.clock.now();
    point.kept().station.connect(now);
    gauge!("slackwater_ocpp_connections").increment(1.0);
    info!(identity = point.identity, version = version.subprotocol(), "a charge point connected");
    let route = hub.route(&point.identity);
    let mut connection = Connection {
        number,
        relay: Relay::new(version, hub.call_timeout(), route.is_some()),
        upstream: route.map_or_else(Upstream::none, |route| {
            Upstream::open(route, version, hub.ping_interval())
        }),
        hub,
        point: Arc::clone(&point),
        told: ToldState::default(),
        replies: HashMap::new(),
        last_ticket: 0,
        saved_at: now,
        pinged_at: now,
        alive_at: now,
        ticked_at: now,
    };
    connection.tell_changes();
    if let Err(error) = connection.exchange_messages(socket, &mut orders).await {
        info!(identity = point.identity, %error, "a connection failed");
    }
    connection.end_exchange().await;
    gauge!("slackwater_ocpp_connections").decrement(1.0);
    let _ = socket.close(None).await;
    info!(identity = point.identity, "a charge point disconnected");
}

/// Keeps the state of a charge point.
async fn save_state(hub: &Hub, point: &Point) {
    if let Err(error) = hub.save(point).await {
        warn!(identity = point.identity, %error, "the state was not kept");
    }
}

/// Counts requests that ended.
fn count_requests(ended: &[(&'static str, &'static str)]) {
    for &(kind, outcome) in ended {
        counter!("slackwater_ocpp_requests_total", "request" => kind, "outcome" => outcome)
            .increment(1);
    }
}

impl Connection {
    async fn exchange_messages<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        socket: &mut WebSocketStream<S>,
        orders: &mut mpsc::Receiver<Box<Order>>,
    ) -> Result<(), Error> {
        let mut tick = self.hub.clock.wait(Duration::ZERO);
        let point = Arc::clone(&self.point);
        loop {
            let step = tokio::select! {
                message = socket.next() => {
                    let Some(message) = message.transpose()? else { return Ok(()) };
                    self.take_message(message)
                }
                news = self.upstream.next() => self.hear_upstream(news),
                order = orders.recv() => {
                    // Without a sender another connection has taken the place of this one.
                    let Some(order) = order else { return Ok(()) };
                    self.order_request(*order)
                }
                () = point.wait_for_decision() => self.take_step(Relay::tick),
                () = &mut tick => {
                    if self.is_silent() {
                        return Ok(());
                    }
                    tick = self.hub.clock.wait(TICK);
                    self.ticked_at = self.hub.clock.now();
                    self.send_ping(socket).await?;
                    self.take_step(Relay::tick)
                }
            };
            self.finish_step(step, socket).await?;
            self.point.note_progress(self.number, self.ticked_at, self.relay.is_waiting());
        }
    }

    /// Takes a step of the exchange.
    fn take_step(
        &mut self,
        work: impl FnOnce(&mut Relay, &mut Parts<'_>) -> RelayStep,
    ) -> RelayStep {
        let now = self.hub.clock.now();
        let step = {
            let Kept { station, shared, .. } = &mut *self.point.kept();
            work(&mut self.relay, &mut Parts { station, shared, rules: &self.point.rules, now })
        };
        self.tell_changes();
        step
    }

    /// Tells the service of connectors that have changed, before the charge point has its answer.
    fn tell_changes(&mut self) {
        self.told.tell_changes(&self.hub, &self.point);
    }

    fn take_message(&mut self, message: Message) -> RelayStep {
        self.alive_at = self.hub.clock.now();
        let Message::Text(text) = message else { return RelayStep::default() };
        self.point.add_message(Sender::Charger, &text, self.alive_at);
        let step = self.take_step(|relay, parts| relay.point_said(&text, parts));
        self.point.tell_site();
        step
    }

    fn hear_upstream(&mut self, news: News) -> RelayStep {
        match news {
            News::Connected(texts) => {
                self.upstream.take_up(texts);
                self.take_step(Relay::upstream_connected)
            }
            News::Text(text) => self.take_step(|relay, parts| relay.upstream_said(&text, parts)),
            News::Lost => {
                self.upstream.let_go();
                self.take_step(Relay::upstream_lost)
            }
        }
    }

    fn order_request(&mut self, order: Order) -> RelayStep {
        self.last_ticket += 1;
        self.replies.insert(self.last_ticket, order.reply);
        let ticket = Some(self.last_ticket);
        self.take_step(|relay, parts| relay.order(order.request, ticket, parts))
    }

    fn is_silent(&self) -> bool {
        let silence = self.hub.clock.now() - self.alive_at;
        silence.num_seconds() > self.hub.ping_interval().num_seconds() * PINGS_MAX
    }

    async fn send_ping<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        socket: &mut WebSocketStream<S>,
    ) -> Result<(), Error> {
        let now = self.hub.clock.now();
        if now - self.pinged_at >= self.hub.ping_interval() {
            self.pinged_at = now;
            socket.send(Message::Ping(Vec::new().into())).await?;
        }
        Ok(())
    }

    /// Keeps the state where that is urgent, then sends. Where it is due, it is kept beside: nothing waits
    /// for that.
    async fn finish_step<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        step: RelayStep,
        socket: &mut WebSocketStream<S>,
    ) -> Result<(), Error> {
        let RelayStep { own: step, upstream, resets } = step;
        if step.is_urgent {
            self.saved_at = self.hub.clock.now();
            save_state(&self.hub, &self.point).await;
        }
        for text in step.send {
            self.point.add_message(Sender::Service, &text, self.hub.clock.now());
            socket.send(Message::text(text)).await?;
        }
        self.upstream.send(upstream);
        if resets {
            self.upstream.let_go();
        }
        count_requests(&step.ended);
        self.deliver_replies(step.done);
        self.save_if_due();
        Ok(())
    }

    fn deliver_replies(&mut self, done: Vec<(Ticket, Reply)>) {
        for (ticket, reply) in done {
            if let Some(receiver) = self.replies.remove(&ticket) {
                // Whoever ordered it may have given up.
                let _ = receiver.send(reply);
            }
        }
    }

    fn save_if_due(&mut self) {
        let now = self.hub.clock.now();
        if now - self.saved_at >= SAVE_AFTER {
            self.saved_at = now;
            let (hub, point) = (Arc::clone(&self.hub), Arc::clone(&self.point));
            tokio::spawn(async move { save_state(&hub, &point).await });
        }
    }

    async fn end_exchange(&mut self) {
        let (step, is_gone) = {
            let now = self.hub.clock.now();
            let Kept { station, shared, .. } = &mut *self.point.kept();
            let mut parts = Parts { station, shared, rules: &self.point.rules, now };
            let step = self.relay.close(&mut parts);
            let is_gone = self.point.disconnect(self.number);
            if is_gone {
                station.disconnect();
            }
            (step, is_gone)
        };
        if is_gone {
            tell_all(&self.hub, &self.point);
        }
        count_requests(&step.ended);
        self.deliver_replies(step.done);
        save_state(&self.hub, &self.point).await;
    }
}
