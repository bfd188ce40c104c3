//! Rekeying of child SAs by us (RFC 7296 section 2.8), also by both ends at once (2.8.1).

use super::ask::{Ask, Task};
use super::child::{HANDOVER, MOST_CHILDREN};
use super::sa::Child;
use super::{Machine, Sa};
use crate::codec::number::{exchange, notify, payload, protocol};
use crate::codec::{Chain, Content, Proposal, selector};

/// Seconds until a request is repeated after the peer reported a temporary failure.
const LATER: f64 = 5.0;

impl Machine {
    /// Requests a child SA that replaces `old`.
    pub(super) fn ask_rekey_child(&mut self, now: f64, sa: &mut Sa, old: u32) {
        let Some(child) = sa.live().find(|child| child.id == old).cloned() else { return };
        let profile = self.profiles.get(&sa.profile).cloned().unwrap_or_default();
        let (Some(spi), Some(nonce)) = (self.new_child_spi(), self.nonce()) else {
            return self.rekey_child_later(now, sa, old, LATER);
        };
        let Ok(offer) = profile.esp.offer(spi, None) else {
            return self.rekey_child_later(now, sa, old, LATER);
        };
        let (own, other) = if child.is_initiator { child.ts } else { (child.ts.1, child.ts.0) };
        let mut chain = Chain::default();
        chain.push(payload::SA, &Proposal::body(&offer));
        chain.push(payload::NONCE, &nonce);
        chain.push(payload::TS_I, &selector::body(&own));
        chain.push(payload::TS_R, &selector::body(&other));
        let named = child.spi_in.to_be_bytes();
        chain.notify_about((protocol::ESP, &named), notify::REKEY_SA, &[]);
        let ask = Ask::RekeyChild { old, spi, nonce, rival: None };
        self.ask(now, sa, exchange::CREATE_CHILD_SA, &chain, ask);
    }
    /// Records that the peer has replaced a child SA, perhaps one that we are replacing as well.
    pub(super) fn note_rival(&mut self, sa: &mut Sa, child: u32, by: (u32, Vec<u8>)) {
        if let Some(request) = &mut sa.request
            && let Ask::RekeyChild { old, rival, .. } = &mut request.ask
            && *old == child
        {
            *rival = Some(by);
        }
    }
    /// Handles the response: the child SA is replaced.
    pub(super) fn child_replaced(
        &mut self,
        now: f64,
        sa: &mut Sa,
        ask: Ask,
        content: &Content<'_>,
    ) {
        let Ask::RekeyChild { old, spi, nonce, rival } = ask else { return };
        if let Some(why) = content.error() {
            return self.not_replaced(now, sa, old, why.kind);
        }
        let Some(other) = content.nonce else {
            return self.rekey_child_later(now, sa, old, LATER);
        };
        let replaces = rival.as_ref().map_or(old, |(child, _)| *child);
        let mut new = match self.accepted(sa, content, spi, (&nonce, other)) {
            Ok(new) => new,
            Err(why) => {
                self.rekey_child_later(now, sa, old, 10.0 * HANDOVER);
                return self.log(format!("{}: child not replaced: {why}", sa.profile));
            }
        };
        // Of two successors the one whose exchange had the lowest nonce is deleted, by the end
        // that created it.
        let is_loser = rival.is_some_and(|(_, lowest)| (&nonce[..]).min(other) < &lowest[..]);
        if is_loser {
            return self.delete_unused(now, sa, spi);
        }
        new.replaces = Some(replaces);
        self.add_child(now, sa, new);
    }
    /// Deletes a child SA that was never used, by our SPI.
    fn delete_unused(&mut self, now: f64, sa: &mut Sa, spi: u32) {
        let mut chain = Chain::default();
        chain.push(payload::DELETE, &delete_body(spi));
        self.ask(now, sa, exchange::INFORMATIONAL, &chain, Ask::DeleteChild(u32::MAX));
    }
    fn not_replaced(&mut self, now: f64, sa: &mut Sa, old: u32, why: u16) {
        match why {
            notify::TEMPORARY_FAILURE => self.rekey_child_later(now, sa, old, LATER),
            // The peer has deleted it already.
            notify::CHILD_SA_NOT_FOUND => self.remove_child(sa, old),
            _ => {
                self.log(format!("{}: child not replaced: notify {why}", sa.profile));
                self.rekey_child_later(now, sa, old, 10.0 * HANDOVER);
            }
        }
    }
    /// A child is replaced at another try.
    fn rekey_child_later(&self, now: f64, sa: &mut Sa, old: u32, wait: f64) {
        if let Some(child) = sa.children.iter_mut().find(|child| child.id == old) {
            child.rekey_at = now + wait + self.chance(LATER);
        }
    }
    /// Requests the deletion of a child SA.
    pub(super) fn ask_delete_child(&mut self, now: f64, sa: &mut Sa, id: u32) {
        let Some(child) = sa.children.iter().find(|child| child.id == id) else { return };
        let mut chain = Chain::default();
        chain.push(payload::DELETE, &delete_body(child.spi_in));
        self.ask(now, sa, exchange::INFORMATIONAL, &chain, Ask::DeleteChild(id));
        self.remove_child(sa, id);
    }
    /// Rekeys or removes child SAs whose time has come.
    pub(super) fn look_at_children(&mut self, now: f64, sa: &mut Sa) {
        let has_room = sa.children.len() < MOST_CHILDREN;
        let is_due = |child: &&Child| has_room && child.rekey_at <= now;
        let old: Vec<_> = sa.live().filter(is_due).map(|c| c.id).collect();
        for id in old {
            if let Some(child) = sa.children.iter_mut().find(|child| child.id == id) {
                child.rekey_at = f64::INFINITY;
            }
            sa.tasks.push_back(Task::RekeyChild(id));
        }
        let is_gone = |child: &&Child| child.goes_at.is_some_and(|time| time <= now);
        let gone: Vec<_> = sa.children.iter().filter(is_gone).cloned().collect();
        for child in gone {
            if !child.is_replaced_here {
                self.remove_child(sa, child.id);
            } else if !sa.tasks.contains(&Task::DeleteChild(child.id)) {
                sa.tasks.push_back(Task::DeleteChild(child.id));
            }
        }
    }
}

/// Body of the payload that deletes a child SA, by our SPI.
fn delete_body(spi: u32) -> Vec<u8> {
    [&[protocol::ESP, 4, 0, 1], &spi.to_be_bytes()[..]].concat()
}
