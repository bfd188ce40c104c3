//! Messages of the module `policer`.

use control::api::{Fields, Record};
use net::prelude::*;
use wire::Dscp;

use super::{Action, Config, Direction, Policer, apply, named};

control::numbers! {
    /// Units of rates.
    pub enum RateType: u8 = "sse2_qos_rate_type" in "plugins/policer/policer_types.api" {
        KBPS = 0 => "SSE2_QOS_RATE_API_KBPS",
        PPS = 1 => "SSE2_QOS_RATE_API_PPS",
        INVALID = 2 => "SSE2_QOS_RATE_API_INVALID",
    }
    /// Rate rounding.
    pub enum RoundType: u8 = "sse2_qos_round_type" in "plugins/policer/policer_types.api" {
        CLOSEST = 0 => "SSE2_QOS_ROUND_API_TO_CLOSEST",
        UP = 1 => "SSE2_QOS_ROUND_API_TO_UP",
        DOWN = 2 => "SSE2_QOS_ROUND_API_TO_DOWN",
        INVALID = 3 => "SSE2_QOS_ROUND_API_INVALID",
    }
    /// Algorithm.
    pub enum PolicerType: u8 = "sse2_qos_policer_type" in "plugins/policer/policer_types.api" {
        ONE_BUCKET = 0 => "SSE2_QOS_POLICER_TYPE_API_1R2C",
        SINGLE_RATE = 1 => "SSE2_QOS_POLICER_TYPE_API_1R3C_RFC_2697",
        TWO_RATE = 2 => "SSE2_QOS_POLICER_TYPE_API_2R3C_RFC_2698",
        DIFFERENTIATED = 3 => "SSE2_QOS_POLICER_TYPE_API_2R3C_RFC_4115",
        COUPLED = 4 => "SSE2_QOS_POLICER_TYPE_API_2R3C_RFC_MEF5CF1",
        MAX = 5 => "SSE2_QOS_POLICER_TYPE_API_MAX",
    }
    /// Actions.
    pub enum ActionType: u8 = "sse2_qos_action_type" in "plugins/policer/policer_types.api" {
        DROP = 0 => "SSE2_QOS_ACTION_API_DROP",
        TRANSMIT = 1 => "SSE2_QOS_ACTION_API_TRANSMIT",
        MARK_AND_TRANSMIT = 2 => "SSE2_QOS_ACTION_API_MARK_AND_TRANSMIT",
    }
}

/// Action for packets of one color.
#[derive(Clone, Copy, Default, Record)]
#[name("sse2_qos_action")]
#[file("plugins/policer/policer_types.api")]
pub struct QosAction {
    /// action
    #[name("type")]
    pub kind: ActionType,
    /// DSCP to set
    pub dscp: u8,
}

/// The algorithm of a policer, its rates and bursts.
#[derive(Clone, Copy, Default, Fields)]
pub struct Rates {
    /// committed rate
    pub cir: u32,
    /// excess or peak rate
    pub eir: u32,
    /// committed burst in bytes or milliseconds
    pub cb: u64,
    /// excess or peak burst in bytes or milliseconds
    pub eb: u64,
    /// unit of rates
    pub rate_type: RateType,
    /// rounding of rates
    pub round_type: RoundType,
    /// algorithm
    #[name("type")]
    pub kind: PolicerType,
}

/// The actions of a policer.
#[derive(Clone, Copy, Default, Fields)]
pub struct Actions {
    /// action for green packets
    pub conform_action: QosAction,
    /// action for yellow packets
    pub exceed_action: QosAction,
    /// action for red packets
    pub violate_action: QosAction,
}

/// A policer configuration.
#[derive(Clone, Copy, Default, Fields, Record)]
#[file("plugins/policer/policer_types.api")]
pub struct PolicerConfig {
    /// the algorithm, rates and bursts
    #[flatten]
    pub rates: Rates,
    /// true to honor colors set by earlier policers
    pub color_aware: bool,
    /// the actions
    #[flatten]
    pub actions: Actions,
}

/// The number of a policer, and of its columns in the statistics.
#[derive(Fields)]
pub struct PolicerReply {
    /// policer index; 4294967295 if it was deleted
    pub policer_index: u32,
}

/// Add a policer.
#[derive(Message)]
#[replies(PolicerReply)]
pub struct PolicerAdd {
    /// name
    pub name: Text<64>,
    /// configuration
    pub infos: PolicerConfig,
}

/// Add or delete a policer.
#[derive(Message)]
#[replies(PolicerReply)]
pub struct PolicerAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// name
    pub name: Text<64>,
    /// configuration
    #[flatten]
    pub infos: PolicerConfig,
}

/// Delete a policer.
#[derive(Message)]
pub struct PolicerDel {
    /// index
    pub policer_index: u32,
}

/// Change a policer.
#[derive(Message)]
pub struct PolicerUpdate {
    /// index
    pub policer_index: u32,
    /// configuration
    pub infos: PolicerConfig,
}

/// Reset a policer: fill its buckets.
#[derive(Message)]
pub struct PolicerReset {
    /// index
    pub policer_index: u32,
}

/// Bind a policer to a worker, or unbind it.
#[derive(Message)]
pub struct PolicerBind {
    /// name
    pub name: Text<64>,
    /// worker, from 0
    pub worker_index: u32,
    /// true to bind, false to unbind
    pub bind_enable: bool,
}

/// Bind a policer to a worker, or unbind it.
#[derive(Message)]
pub struct PolicerBindV2 {
    /// index
    pub policer_index: u32,
    /// worker, from 0
    pub worker_index: u32,
    /// true to bind, false to unbind
    pub bind_enable: bool,
}

macro_rules! uses {
    ($(#[doc = $about:literal] $by_name:ident, $by_index:ident;)*) => {$(
        #[doc = $about]
        #[derive(Message)]
        pub struct $by_name {
            /// policer
            pub name: Text<64>,
            /// interface index
            pub sw_if_index: InterfaceIndex,
            /// true to apply, false to remove
            pub apply: bool,
        }

        #[doc = $about]
        #[derive(Message)]
        pub struct $by_index {
            /// policer
            pub policer_index: u32,
            /// interface index
            pub sw_if_index: InterfaceIndex,
            /// true to apply, false to remove
            pub apply: bool,
        }
    )*};
}

uses! {
    /// Enable or disable policing of packets received on an interface.
    PolicerInput, PolicerInputV2;
    /// Enable or disable policing of packets transmitted on an interface.
    PolicerOutput, PolicerOutputV2;
}

/// List policers.
#[derive(Message)]
#[details(PolicerDetails)]
pub struct PolicerDump {
    /// only the one with this name
    pub match_name_valid: bool,
    /// name
    pub match_name: Text<64>,
}

/// List policers.
#[derive(Message)]
#[details(PolicerDetails)]
pub struct PolicerDumpV2 {
    /// 4294967295 for all
    pub policer_index: u32,
}

/// A policer.
#[derive(Message)]
pub struct PolicerDetails {
    /// name
    pub name: Text<64>,
    /// the algorithm, rates and bursts
    #[flatten]
    pub rates: Rates,
    /// the actions
    #[flatten]
    pub actions: Actions,
    /// true if both buckets have the same rate
    pub single_rate: bool,
    /// true to honor colors set by earlier policers
    pub color_aware: bool,
    /// scale: the token counts below are multiplied by 2 to this power
    pub scale: u32,
    /// tokens per 131072 clock ticks
    pub cir_tokens_per_period: u32,
    /// tokens per period of the second bucket
    pub pir_tokens_per_period: u32,
    /// size of the first bucket
    pub current_limit: u32,
    /// tokens in the bucket
    pub current_bucket: u32,
    /// size of the second bucket
    pub extended_limit: u32,
    /// tokens in the bucket
    pub extended_bucket: u32,
    /// in clock ticks
    pub last_update_time: u64,
}

/// Enable or disable policing of punted packets.
#[derive(Message)]
pub struct IpPuntPolice {
    /// index
    pub policer_index: u32,
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// True for IPv6, false for IPv4
    pub is_ip6: bool,
}

impl TryFrom<QosAction> for Action {
    type Error = Retval;
    fn try_from(action: QosAction) -> Result<Self, Retval> {
        let found = match action.kind {
            ActionType::DROP => Some(Self::Drop),
            ActionType::TRANSMIT => Some(Self::Transmit),
            ActionType::MARK_AND_TRANSMIT => Dscp::new(action.dscp).map(Self::Mark),
            _ => None,
        };
        found.ok_or(Retval::INVALID_VALUE)
    }
}

impl From<Action> for QosAction {
    fn from(action: Action) -> Self {
        let (kind, dscp) = match action {
            Action::Drop => (ActionType::DROP, 0),
            Action::Transmit => (ActionType::TRANSMIT, 0),
            Action::Mark(dscp) => (ActionType::MARK_AND_TRANSMIT, dscp.get()),
        };
        Self { kind, dscp }
    }
}

impl TryFrom<PolicerConfig> for Config {
    type Error = Retval;
    fn try_from(
        PolicerConfig { rates, color_aware, actions }: PolicerConfig,
    ) -> Result<Self, Retval> {
        let Rates { cir, eir, cb, eb, .. } = rates;
        Ok(Self {
            kind: rates.kind.try_into()?,
            cir,
            eir,
            cb,
            eb,
            rate: rates.rate_type.try_into()?,
            round: rates.round_type.try_into()?,
            color_aware,
            conform_action: actions.conform_action.try_into()?,
            exceed_action: actions.exceed_action.try_into()?,
            violate_action: actions.violate_action.try_into()?,
        })
    }
}

/// Ticks of the clock in the period that details speak of.
const PERIOD: f64 = 131_072.0;

impl PolicerDetails {
    fn of(policer: &Policer, hz: f64) -> Self {
        let c = &policer.config;
        let Config { cir, eir, cb, eb, color_aware, .. } = *c;
        let profile = c.profile().expect("it was looked at when the policer was made");
        let ((current, extended), at) = policer.levels();
        let limit = profile.committed.burst.max(profile.excess.burst);
        let scale = (0..8).rev().find(|s| limit * f64::from(1 << s) <= f64::from(u32::MAX));
        let scale = scale.unwrap_or(0);
        let tokens = |n: f64| (n * f64::from(1 << scale)) as u32;
        let per_period = |rate: f64| tokens(rate * PERIOD / hz);
        let (rate_type, round_type) = (c.rate.into(), c.round.into());
        let [conform_action, exceed_action, violate_action] = c.actions().map(QosAction::from);
        Self {
            name: policer.name.as_str().into(),
            rates: Rates { cir, eir, cb, eb, rate_type, round_type, kind: c.kind.into() },
            actions: Actions { conform_action, exceed_action, violate_action },
            single_rate: c.has_one_rate(),
            color_aware,
            scale,
            cir_tokens_per_period: per_period(profile.committed.rate),
            pir_tokens_per_period: per_period(profile.excess.rate),
            current_limit: tokens(profile.committed.burst),
            current_bucket: tokens(current),
            extended_limit: tokens(profile.excess.burst),
            extended_bucket: tokens(extended),
            last_update_time: (at * hz) as u64,
        }
    }
}

fn dump(router: &Router, is_meant: impl Fn(u32, &Policer) -> bool) -> Vec<PolicerDetails> {
    let hz = router.engine.clock().hz();
    let chosen = super::all(router).filter(|(index, policer)| is_meant(*index, policer));
    chosen.map(|(_, policer)| PolicerDetails::of(policer, hz)).collect()
}

fn add(router: &mut Router, name: &str, infos: PolicerConfig) -> Result<PolicerReply, Retval> {
    Ok(PolicerReply { policer_index: super::add_at(router, name, None, infos.try_into()?)? })
}

fn bind(router: &mut Router, policer: u32, worker: u32, on: bool) -> Result<(), Retval> {
    Ok(super::bind(router, policer, on.then_some(worker as usize))?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("policer", "3.0.0")
        .call(|router: &mut Router, m: PolicerBind| {
            bind(router, named(router, &m.name)?, m.worker_index, m.bind_enable)
        })
        .call(|router, m: PolicerBindV2| {
            bind(router, m.policer_index, m.worker_index, m.bind_enable)
        })
        .call(|router, m: PolicerInput| {
            let policer = named(router, &m.name)?;
            Ok(apply(router, m.sw_if_index, Direction::Input, policer, m.apply)?)
        })
        .call(|router, m: PolicerInputV2| {
            Ok(apply(router, m.sw_if_index, Direction::Input, m.policer_index, m.apply)?)
        })
        .call(|router, m: PolicerOutput| {
            let policer = named(router, &m.name)?;
            Ok(apply(router, m.sw_if_index, Direction::Output, policer, m.apply)?)
        })
        .call(|router, m: PolicerOutputV2| {
            Ok(apply(router, m.sw_if_index, Direction::Output, m.policer_index, m.apply)?)
        })
        .call(|router, m: PolicerAddDel| {
            if m.is_add {
                return add(router, &m.name, m.infos);
            }
            super::remove(router, named(router, &m.name)?)?;
            Ok(PolicerReply { policer_index: u32::MAX })
        })
        .call(|router, m: PolicerAdd| add(router, &m.name, m.infos))
        .call(|router, m: PolicerDel| Ok(super::remove(router, m.policer_index)?))
        .call(|router, m: PolicerUpdate| {
            Ok(super::update(router, m.policer_index, m.infos.try_into()?)?)
        })
        .call(|router, m: PolicerReset| Ok(super::reset(router, m.policer_index)?))
        .dump(|router: &mut Router, m: PolicerDump| {
            dump(router, |_, p| !m.match_name_valid || p.name == *m.match_name)
        })
        .dump(|router, m: PolicerDumpV2| {
            dump(router, |index, _| m.policer_index == u32::MAX || m.policer_index == index)
        })
        .call(|router, m: IpPuntPolice| {
            let version = if m.is_ip6 { IpVersion::V6 } else { IpVersion::V4 };
            let policer = m.is_add.then_some(m.policer_index);
            Ok(super::apply_to_punted(router, version, policer)?)
        });
}
