//! INFORMATIONAL (RFC 7296 section 1.4): deletions and liveness checks.

use super::ask::Ask;
use super::waiting::Plain;
use super::{Machine, Noted, Sa, State};
use crate::codec::number::{exchange, notify, payload, protocol};
use crate::codec::{Chain, Content};
use infra::order::Order;

/// Seconds for which a deleted association still answers retransmitted requests.
const LAST: f64 = 30.0;

impl Machine {
    pub(super) fn take_inform(&mut self, now: f64, sa: &mut Sa, id: u32, plain: &Plain) {
        let of = (exchange::INFORMATIONAL, id);
        let Ok(content) = Content::read(plain.0, &plain.1) else { return };
        let mut chain = Chain::default();
        if content.deletes.is_empty() && content.error().is_none() {
            sa.stats.keepalives = sa.stats.keepalives.saturating_add(1);
            self.count(sa.ends.node, Noted::Keepalive);
            return self.respond(now, sa, of, &chain);
        }
        let is_refused = content.notify(notify::AUTHENTICATION_FAILED).is_some();
        let is_over = |delete: &crate::codec::Delete<'_>| delete.protocol == protocol::IKE;
        if is_refused || content.deletes.iter().any(is_over) {
            self.respond(now, sa, of, &chain);
            let why = if is_refused { "was refused" } else { "was deleted by the peer" };
            if sa.state == State::Established {
                self.log(format!("{}: association with {} {why}", sa.profile, sa.ends.remote.0));
            }
            return self.close(now, sa);
        }
        let esp = content.deletes.iter().filter(|delete| delete.protocol == protocol::ESP);
        let mut gone = Vec::new();
        for spi in esp.flat_map(|delete| delete.each()) {
            // If two have the same SPI at the peer, the replaced one goes first.
            let mut mine: Vec<_> = sa.children.iter().filter(|c| c.spi_out == spi).collect();
            mine.order_by_key(|child| child.goes_at.is_none());
            if let Some((id, spi_in)) = mine.first().map(|child| (child.id, child.spi_in)) {
                gone.push(spi_in);
                self.remove_child(sa, id);
            }
        }
        if !gone.is_empty() {
            let mut body = vec![protocol::ESP, 4];
            body.extend((gone.len() as u16).to_be_bytes());
            gone.iter().for_each(|spi| body.extend(spi.to_be_bytes()));
            chain.push(payload::DELETE, &body);
        }
        self.respond(now, sa, of, &chain);
    }
    /// Deletes an association and notifies the peer; queued requests are dropped.
    pub(super) fn say_delete(&mut self, now: f64, sa: &mut Sa) {
        if !matches!(sa.state, State::Established | State::Replaced) {
            return sa.state = State::Dead;
        }
        self.forget_rekey(sa);
        let mut chain = Chain::default();
        chain.push(payload::DELETE, &[protocol::IKE, 0, 0, 0]);
        self.ask(now, sa, exchange::INFORMATIONAL, &chain, Ask::Delete);
        self.close(now, sa);
    }
    fn close(&mut self, now: f64, sa: &mut Sa) {
        self.drop_children(sa);
        self.forget_rekey(sa);
        sa.tasks.clear();
        if !matches!(sa.request.as_ref().map(|request| &request.ask), Some(Ask::Delete)) {
            sa.request = None;
        }
        sa.state = State::Closing;
        sa.goes_at = Some(now + LAST);
    }
}
