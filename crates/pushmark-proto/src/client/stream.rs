//! HTTP streaming ("comet"): one endless response. The stream has no messages; the driver finds stamps in its
//! bytes.

use super::ready::Ready;
use super::{Context, Event, Request, Step, judge};
use crate::Failure;

/// The conversation over one connection.
#[derive(Debug, Default)]
pub(super) struct Stream {
    ready: Ready,
}

impl Stream {
    pub(super) fn begin(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        request.write_default(out, "Accept", "*/*");
        request.write_default(out, "Cache-Control", "no-cache");
        self.ready = Ready::default();
    }

    pub(super) fn connection_lost(&mut self) {
        self.ready = Ready::default();
    }

    pub(super) fn handle_input<'a>(
        &mut self,
        context: Context<'_>,
        input: &mut &'a mut [u8],
    ) -> Result<Option<Event<'a>>, Failure> {
        let Context { config, exchange, .. } = context;
        if self.ready.tell() {
            return Ok(Some(Event::Ready));
        }
        Ok(match exchange.step(config.head_max, input)? {
            Step::Head(head) => Some(judge::accept(config, &head)?),
            Step::Data(n) => {
                let data = exchange.take(n, input);
                self.ready.look(config.ready.as_deref(), data);
                Some(Event::Data(data))
            }
            Step::End => Some(Event::Closed { code: None, reason: "" }),
            Step::More => None,
        })
    }

    pub(super) fn handle_eof(&mut self, context: Context<'_>) -> Result<Option<Event<'static>>, Failure> {
        Ok(context.exchange.eof()?.then_some(Event::Closed { code: None, reason: "" }))
    }
}
