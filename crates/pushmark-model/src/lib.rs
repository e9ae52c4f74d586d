//! The vocabulary of pushmark: plain data, no I/O, no clock, no dependency on pushmark's other crates.
//!
//! One word, one meaning:
//!
//! | word | means |
//! |---|---|
//! | [`Transport`](transport::Transport) | how a client receives: poll, long-poll, bayeux, stream, sse, websocket, bayeux-websocket |
//! | target | the system under test, described by URL templates; a *server* is a target kept in `servers/` |
//! | channel, subscription, room | a topic; one client on one channel; a channel used for chat |
//! | publication, delivery | one message published on a channel; its arrival at one subscriber |
//! | due, sent, received | when the schedule planned a publication; when it was written; when it had arrived completely |
//! | emitter, publisher | publishes from inside the server every interval; publishes from outside on an open schedule |
//! | [`Scenario`](scenario::Scenario) | one target and one load, as a user writes them |
//! | arm | one transport of a case, with its own crowd and a fresh server |
//! | [`Plan`](plan::Plan), [`ShardPlan`](plan::ShardPlan) | a case with every number filled in and the seed fixed; one thread's share |
//! | [`Record`](record::Record) | what a shard measured in one interval |
//! | [`Run`](run::Run) | the stored result of one case |
//! | generator, agent | pushmark's own side; one generator process |

pub mod agent;
pub mod calibration;
pub mod cluster;
pub mod compare;
pub mod content;
pub mod decode;
pub mod draw;
mod encoding;
pub mod environment;
pub mod family;
pub mod flood;
pub mod frame;
pub mod histogram;
pub mod latency;
pub mod message;
pub mod metrics;
pub mod monitor;
pub mod plan;
pub mod poller;
pub mod record;
pub mod refresh;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod search;
pub mod second;
pub mod secret;
pub mod server;
mod sparse;
pub mod spelling;
pub mod stamp;
pub mod stats;
pub mod steady;
pub mod steer;
pub mod suite;
pub mod template;
pub mod transport;
pub mod units;
