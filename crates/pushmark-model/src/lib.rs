//! The vocabulary of pushmark: plain data, no I/O, no clock, nothing of its own crates.
//!
//! One word, one meaning:
//!
//! | word | means |
//! |---|---|
//! | [`Transport`](transport::Transport) | how a client hears: poll, long-poll, bayeux, stream, sse, websocket, bayeux-websocket |
//! | target | what is measured, by URL templates; a *server* is a target kept in `servers/` |
//! | channel, subscription, room | a topic; a client's wish to hear it; a channel used for chat |
//! | publication, delivery | one message published on a channel; its arrival at one subscriber |
//! | due, sent, received | when the schedule planned a publication; when it was written; when it had arrived whole |
//! | emitter, publisher | publishes from inside the server every interval; publishes from outside on an open schedule |
//! | [`Scenario`](scenario::Scenario) | what a user asks of one crowd |
//! | arm | one transport of a case, with its own crowd and a fresh server |
//! | [`Plan`](plan::Plan), [`ShardPlan`](plan::ShardPlan) | a case with every number filled in and the seed fixed; one thread's share |
//! | [`Record`](record::Record) | what a shard measured in one interval |
//! | [`Run`](run::Run) | the kept result of one case |
//! | generator, agent | pushmark's own side; one generator process |

pub mod agent;
pub mod calibration;
pub mod compare;
pub mod content;
pub mod draw;
pub mod flood;
pub mod frame;
pub mod histogram;
pub mod hybrid;
pub mod metrics;
pub mod plan;
pub mod poller;
pub mod record;
pub mod refresh;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod search;
pub mod second;
pub mod stamp;
pub mod stats;
pub mod steady;
pub mod steer;
pub mod suite;
pub mod template;
pub mod transport;
pub mod units;
