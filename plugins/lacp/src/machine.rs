//! The machines of a port (IEEE 802.1AX section 6.4): receive, periodic transmission, mux and
//! transmission. They know neither packets nor interfaces, and time is an argument.

use wire::lacp::{Party, Pdu, state};

/// Seconds between two frames to a station that wants to hear often, and seldom.
const FAST: f64 = 1.0;
const SLOW: f64 = 30.0;
/// Times of these after which nothing was heard for too long.
const TIMEOUT: f64 = 3.0;
/// Seconds for which a port waits for others before it is attached: none, as in the original.
const AGGREGATE_WAIT: f64 = 0.0;
/// Frames sent within [`FAST`] at most.
const BURST: usize = 3;

/// States of the receive machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rx {
    /// At the start.
    Initialize,
    /// The link is down.
    PortDisabled,
    /// Nothing was heard for too long.
    Expired,
    /// The protocol is not spoken here. Never so: members of other bonds are no ports.
    LacpDisabled,
    /// Nothing was heard for so long that it never was.
    Defaulted,
    /// The last message holds.
    Current,
}

/// States of the mux machine, with receiving and sending coupled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mux {
    /// Belongs to no group.
    Detached,
    /// Is selected, and waits for others.
    Waiting,
    /// Belongs to the group.
    Attached,
    /// Carries packets.
    CollectingDistributing,
}

/// States of the periodic transmission machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Periodic {
    /// Nothing is sent by itself.
    NoPeriodic,
    /// Every second.
    FastPeriodic,
    /// Every 30 seconds.
    SlowPeriodic,
    /// One is being sent.
    PeriodicTx,
}

impl Rx {
    /// As `show lacp` has it.
    pub fn word(self) -> &'static str {
        ["INITIALIZE", "PORT_DISABLED", "EXPIRED", "LACP_DISABLED", "DEFAULTED", "CURRENT"]
            [self as usize]
    }
}

impl Mux {
    /// As `show lacp` has it.
    pub fn word(self) -> &'static str {
        ["DETACHED", "WAITING", "ATTACHED", "COLLECTING_DISTRIBUTING"][self as usize]
    }
}

impl Periodic {
    /// As `show lacp` has it.
    pub fn word(self) -> &'static str {
        ["NO_PERIODIC", "FAST_PERIODIC", "SLOW_PERIODIC", "PERIODIC_TX"][self as usize]
    }
}

/// A port.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its own end, as messages say it.
    pub actor: Party,
    /// The other end, as far as it is known.
    pub partner: Party,
    /// Receive machine.
    pub rx: Rx,
    /// Mux machine.
    pub mux: Mux,
    /// Periodic transmission machine.
    pub periodic: Periodic,
    /// Whether it may belong to the group.
    pub is_selected: bool,
    /// Its link is up.
    is_enabled: bool,
    /// There is something to say.
    needs_to_say: bool,
    /// Time until which the last message holds, and at which it is forgotten.
    current_until: Option<f64>,
    /// End of its wait for other ports.
    wait_until: Option<f64>,
    /// Time of its next message.
    say_at: Option<f64>,
    /// Times of its last messages, latest first.
    said: [f64; BURST],
}

/// Parameters assumed for an unknown partner: those of this end, with system 0.
fn unknown(actor: &Party) -> Party {
    Party { system: wire::MacAddr::ZERO, state: 0, ..*actor }
}

impl Port {
    /// A port whose link is down. `actor` says what it is, whether it begins, and how often it
    /// wants to hear.
    pub fn new(mut actor: Party) -> Self {
        actor.set(state::DEFAULTED, true);
        Self {
            actor,
            partner: unknown(&actor),
            rx: Rx::PortDisabled,
            mux: Mux::Detached,
            periodic: Periodic::NoPeriodic,
            is_selected: false,
            is_enabled: false,
            needs_to_say: false,
            current_until: None,
            wait_until: None,
            say_at: None,
            said: [f64::NEG_INFINITY; BURST],
        }
    }
    /// Whether it carries packets.
    pub fn is_distributing(&self) -> bool {
        self.mux == Mux::CollectingDistributing
    }
    /// Whether something is known of the other end that may be grouped.
    pub fn is_eligible(&self) -> bool {
        let is_known = matches!(self.rx, Rx::Current | Rx::Expired);
        let is_loop = self.partner.system == self.actor.system;
        is_known && self.partner.has(state::AGGREGATION) && !is_loop
    }
    /// Fields that all ports of a group have in common at the other end.
    pub fn group(&self) -> (u16, wire::MacAddr, u16) {
        let Party { system_priority, system, key, .. } = self.partner;
        (system_priority.get(), system, key.get())
    }
    /// Gives it another identity, and informs the partner.
    pub fn set_system(&mut self, system: wire::MacAddr) {
        self.actor.system = system;
        (self.is_selected, self.needs_to_say) = (false, true);
    }
    /// Follows the link.
    pub fn set_enabled(&mut self, is_enabled: bool, now: f64) {
        if self.is_enabled == is_enabled {
            return;
        }
        self.is_enabled = is_enabled;
        if is_enabled {
            self.expire(now);
        } else {
            self.rx = Rx::PortDisabled;
            self.partner.set(state::SYNCHRONIZATION, false);
            self.current_until = None;
            self.is_selected = false;
        }
    }
    /// Section 6.4.12, EXPIRED: the other end is asked to say quickly who it is.
    fn expire(&mut self, now: f64) {
        self.rx = Rx::Expired;
        self.partner.set(state::SYNCHRONIZATION, false);
        self.partner.set(state::TIMEOUT, true);
        self.current_until = Some(now + TIMEOUT * FAST);
        self.actor.set(state::EXPIRED, true);
    }
    /// DEFAULTED: the other end is forgotten.
    fn forget(&mut self) {
        self.rx = Rx::Defaulted;
        self.current_until = None;
        let unknown = unknown(&self.actor);
        if !self.partner.is_same(&unknown) {
            self.is_selected = false;
        }
        self.partner = unknown;
        self.actor.set(state::EXPIRED, false);
        self.actor.set(state::DEFAULTED, true);
    }
    /// CURRENT: the other end said something.
    pub fn hear(&mut self, pdu: &Pdu, now: f64) {
        if !self.is_enabled {
            return;
        }
        let says = |party: &Party, bit| party.has(bit);
        let is_grouped = |party: &Party| says(party, state::AGGREGATION);
        // update_Selected
        if !pdu.actor.is_same(&self.partner) || is_grouped(&pdu.actor) != is_grouped(&self.partner)
        {
            self.is_selected = false;
        }
        // update_NTT
        let compared =
            state::ACTIVITY | state::TIMEOUT | state::SYNCHRONIZATION | state::AGGREGATION;
        let is_known = pdu.partner.is_same(&self.actor);
        if !is_known || (pdu.partner.state ^ self.actor.state) & compared != 0 {
            self.needs_to_say = true;
        }
        // recordPDU
        let is_right = is_known && is_grouped(&pdu.partner) == is_grouped(&self.actor);
        let is_kept_up = says(&pdu.actor, state::ACTIVITY)
            || says(&self.actor, state::ACTIVITY) && says(&pdu.partner, state::ACTIVITY);
        let is_in_sync = says(&pdu.actor, state::SYNCHRONIZATION)
            && is_kept_up
            && (is_right || !is_grouped(&pdu.actor));
        self.partner = Party { reserved: [0; 3], ..pdu.actor };
        self.partner.set(state::SYNCHRONIZATION, is_in_sync);
        self.actor.set(state::DEFAULTED, false);
        self.actor.set(state::EXPIRED, false);
        let every = if self.actor.has(state::TIMEOUT) { FAST } else { SLOW };
        self.current_until = Some(now + TIMEOUT * every);
        self.rx = Rx::Current;
    }
    /// Lets time pass and the machines follow; the frame to send, if there is one.
    pub fn run(&mut self, now: f64) -> Option<Pdu> {
        if self.current_until.is_some_and(|at| at <= now) {
            if self.rx == Rx::Current { self.expire(now) } else { self.forget() }
        }
        self.run_mux(now);
        self.run_periodic(now);
        let is_heard = self.periodic != Periodic::NoPeriodic;
        if !self.needs_to_say || !is_heard || now < self.said[BURST - 1] + FAST {
            return None;
        }
        self.needs_to_say = false;
        self.said.rotate_right(1);
        self.said[0] = now;
        Some(Pdu::new(self.actor, self.partner))
    }
    /// Section 6.4.15.
    fn run_mux(&mut self, now: f64) {
        loop {
            let in_sync = self.partner.has(state::SYNCHRONIZATION);
            let next = match self.mux {
                Mux::Detached if self.is_selected => Mux::Waiting,
                Mux::Waiting if !self.is_selected => Mux::Detached,
                Mux::Waiting if self.wait_until.is_some_and(|at| at <= now) => Mux::Attached,
                Mux::Attached if !self.is_selected => Mux::Detached,
                Mux::Attached if in_sync => Mux::CollectingDistributing,
                Mux::CollectingDistributing if !self.is_selected || !in_sync => Mux::Attached,
                _ => return,
            };
            self.mux = next;
            self.wait_until = (next == Mux::Waiting).then_some(now + AGGREGATE_WAIT);
            let carries = next == Mux::CollectingDistributing;
            self.actor.set(state::SYNCHRONIZATION, carries || next == Mux::Attached);
            self.actor.set(state::COLLECTING, carries);
            self.actor.set(state::DISTRIBUTING, carries);
            self.needs_to_say |= next != Mux::Waiting;
        }
    }
    /// Section 6.4.13.
    fn run_periodic(&mut self, now: f64) {
        let begins = self.actor.has(state::ACTIVITY) || self.partner.has(state::ACTIVITY);
        let wanted = match self.partner.has(state::TIMEOUT) {
            _ if !self.is_enabled || !begins => Periodic::NoPeriodic,
            true => Periodic::FastPeriodic,
            false => Periodic::SlowPeriodic,
        };
        let every = match wanted {
            Periodic::NoPeriodic => {
                (self.periodic, self.say_at) = (wanted, None);
                return;
            }
            Periodic::FastPeriodic => FAST,
            _ => SLOW,
        };
        let is_due = self.say_at.is_none_or(|at| at <= now);
        // A partner that wants a faster rate is sent a frame at once.
        let is_sooner = self.periodic == Periodic::SlowPeriodic && every == FAST;
        if is_due || is_sooner {
            self.needs_to_say = true;
        }
        if is_due || self.periodic != wanted {
            self.say_at = Some(now + every);
        }
        self.periodic = wanted;
    }
    /// The state of periodic transmission, as clients see it: as in the original, of a port that
    /// sends by itself that of sending.
    pub fn transmission(&self) -> Periodic {
        match self.periodic {
            Periodic::NoPeriodic => Periodic::NoPeriodic,
            _ => Periodic::PeriodicTx,
        }
    }
    /// Time at which [`Port::run`] has something to do next.
    pub fn next(&self) -> Option<f64> {
        let says = self.needs_to_say && self.periodic != Periodic::NoPeriodic;
        let may_say = says.then_some(self.said[BURST - 1] + FAST);
        let all = [self.current_until, self.wait_until, self.say_at, may_say];
        all.into_iter().flatten().min_by(f64::total_cmp)
    }
}
