//! NATS, from threads that block: publish, subscribe, ask and be answered.
//!
//! Its client is asynchronous. One thread drives it; every other thread of the program waits as it does for
//! any call.

use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Message, Request, RequestErrorKind};
use futures_util::StreamExt as _;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::Access;

/// Time for the first connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Time between two tries to connect again: short, because a run waits for nothing else.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A connection to NATS. It connects again by itself.
#[derive(Debug)]
pub struct Bus {
    client: Client,
    handle: Handle,
    /// The address of the server, as it was given.
    url: String,
    // Dropping the sender ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A message.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Where it was sent to.
    pub subject: String,
    /// Its bytes.
    pub body: Vec<u8>,
    /// Where an answer is awaited.
    pub reply: Option<String>,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// There is no listener.
    NoListener,
    /// No answer came in time.
    Late,
    /// The bus itself failed.
    Bus(String),
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Silence::NoListener => f.write_str("no listener"),
            Silence::Late => f.write_str("no answer in time"),
            Silence::Bus(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Silence {}

impl Bus {
    /// Connects.
    ///
    /// # Errors
    /// Fails if no server answers at the address, or it refuses this client.
    pub fn connect(access: &Access, name: &str) -> anyhow::Result<Bus> {
        let mut options = ConnectOptions::new()
            .name(name)
            .connection_timeout(CONNECT_WITHIN)
            .reconnect_delay_callback(|_| AGAIN_AFTER)
            .max_reconnects(None);
        if let Some((user, password)) = access.user_and_password()? {
            options = options.user_and_password(user, password);
        }
        if let Some(ca) = &access.ca {
            options = options.add_root_certificates(ca.clone()).require_tls(true);
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("nats".into()).spawn(move || {
            // Ends when the sender is dropped.
            let _ = runtime.block_on(stopped);
        })?;
        let url = access.url.clone();
        let client = handle
            .block_on(options.connect(url.as_str()))
            .with_context(|| format!("no NATS server at {url}"))?;
        Ok(Bus { client, handle, url, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns whether it is connected now.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Sends a message to all who listen. It may be lost: what must arrive is asked for again.
    pub fn publish(&self, subject: String, body: Vec<u8>) {
        // It fails only for an invalid subject or a body that is too long, which ours are not.
        let _ = self.handle.block_on(self.client.publish(subject, body.into()));
    }

    /// Waits until what was published has reached the server.
    pub fn flush(&self, within: Duration) {
        let flush = async {
            let _ = tokio::time::timeout(within, self.client.flush()).await;
        };
        self.handle.block_on(flush);
    }

    /// Answers a question.
    pub fn answer(&self, question: &Heard, body: Vec<u8>) {
        if let Some(reply) = &question.reply {
            self.publish(reply.clone(), body);
        }
    }

    /// Asks one listener.
    ///
    /// # Errors
    /// Fails if there is no listener, or no answer comes in time.
    pub fn request(&self, subject: String, body: Vec<u8>, within: Duration) -> Result<Vec<u8>, Silence> {
        let request = Request::new().payload(body.into()).timeout(Some(within));
        match self.handle.block_on(self.client.send_request(subject, request)) {
            Ok(message) => Ok(message.payload.to_vec()),
            Err(error) => Err(match error.kind() {
                RequestErrorKind::NoResponders => Silence::NoListener,
                RequestErrorKind::TimedOut => Silence::Late,
                _ => Silence::Bus(error.to_string()),
            }),
        }
    }

    /// Asks all who listen. Returns the answers that came in time, at most `enough`.
    ///
    /// # Errors
    /// Fails if the bus does.
    pub fn gather(
        &self,
        subject: String,
        body: Vec<u8>,
        within: Duration,
        enough: usize,
    ) -> anyhow::Result<Vec<Vec<u8>>> {
        let inbox = self.client.new_inbox();
        let answers = self.subscribe(std::slice::from_ref(&inbox))?;
        self.handle.block_on(self.client.publish_with_reply(subject, inbox, body.into()))?;
        let until = Instant::now() + within;
        let mut all = Vec::new();
        while all.len() < enough
            && let Ok(heard) = answers.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            // Without a listener the server itself answers, with nothing.
            if !heard.body.is_empty() {
                all.push(heard.body);
            }
        }
        Ok(all)
    }

    /// Listens. It ends when the receiver is dropped.
    ///
    /// # Errors
    /// Fails if the bus does.
    pub fn subscribe(&self, subjects: &[String]) -> anyhow::Result<Receiver<Heard>> {
        let (told, heard) = channel();
        for subject in subjects {
            let mut subscriber = self.handle.block_on(self.client.subscribe(subject.clone()))?;
            let told = told.clone();
            self.handle.spawn(async move {
                while let Some(message) = subscriber.next().await {
                    if told.send(Heard::from(message)).is_err() {
                        break;
                    }
                }
            });
        }
        // The server knows of them before a message that asks for an answer there is sent.
        self.handle.block_on(self.client.flush())?;
        Ok(heard)
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        // What was published last leaves before the thread ends.
        if self.is_connected() {
            self.flush(CONNECT_WITHIN);
        }
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl From<Message> for Heard {
    fn from(message: Message) -> Heard {
        Heard {
            subject: message.subject.to_string(),
            body: message.payload.to_vec(),
            reply: message.reply.map(|subject| subject.to_string()),
        }
    }
}
