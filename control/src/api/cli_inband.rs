//! `cli_inband`: any command as a message. Its output, then the text of its error, in one string.

use super::field::{Reader, Short};
use super::message::Call;
use super::outgoing::{HeadValues, Outgoing};
use super::registry::{Api, one_reply};
use super::work::{Caller, Progress, Registries, Work};
use crate::api::Message;
use crate::cli::{Output, Reply, Run, Step};

/// Run commands, one per line.
#[derive(Message)]
#[reply(CliInbandReply)]
pub struct CliInband {
    /// the command
    pub cmd: String,
}

/// Output of the commands, up to the first error and including its text.
#[derive(Message)]
pub struct CliInbandReply {
    /// the text
    pub reply: String,
}

pub(super) fn register<C: 'static>(api: &mut Api<C>) {
    api.core("vlib", "1.0.0").request::<CliInband, _>(
        CliInbandReply::INFO,
        one_reply(CliInbandReply::INFO),
        |_, _, caller, from, _| Ok(Some(Box::new(Commands::new(caller, from)?))),
    );
}

struct Commands<C> {
    caller: Caller,
    run: Option<Run<C>>,
    output: Output,
}

impl<C: 'static> Commands<C> {
    fn new(caller: Caller, from: &mut Reader<'_>) -> Result<Self, Short> {
        let CliInband { cmd } = CliInband::decode(from)?;
        Ok(Self { caller, run: Some(Run::new(&cmd)), output: Output::none() })
    }
}

impl<C: 'static> Work<C> for Commands<C> {
    fn step(&mut self, cx: &mut C, around: Registries<'_, C>, out: &mut Outgoing) -> Progress {
        let Some(run) = &mut self.run else { return Progress::Done };
        let result = match run.step(around.cli, cx, &mut self.output) {
            Step::Again => return Progress::Again,
            Step::Sleep(time) => return Progress::Sleep(time),
            Step::Wait => return Progress::Wait,
            Step::Done(result) => result,
        };
        let done = Reply { output: std::mem::take(&mut self.output), result };
        let reply = CliInbandReply { reply: done.text() };
        let id = around.api.id(CliInband::REPLY.name).unwrap_or_default();
        let head = HeadValues {
            context: self.caller.context,
            retval: done.retval(),
            ..HeadValues::default()
        };
        out.message(id, CliInband::REPLY, head, |bytes| reply.encode(bytes));
        Progress::Done
    }

    fn cancel(&mut self, cx: &mut C) {
        if let Some(run) = self.run.take() {
            run.cancel(cx, &mut self.output);
        }
    }
}
