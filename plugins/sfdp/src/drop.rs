//! `sfdp-drop`: the service that lets nothing pass.

use net::prelude::*;

use super::lifecycle::Error;
use super::packet::leave;
use super::service::DROP;

/// Drops what comes.
#[derive(Clone)]
pub struct Drop;

impl Node for Drop {
    const NAME: &'static str = DROP;
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            leave(p);
            Err(Error::Drop)
        });
    }
}
