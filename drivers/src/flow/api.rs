//! Messages of the module `flow`.

mod arms;

use control::api::{Api, Message, Overlay, Record, Retval};
use net::Router;

pub use arms::*;

use super::{Action, Match, Rule};

/// A rule.
#[derive(Clone, Record)]
#[file("vnet/flow/flow_types.api")]
pub struct FlowRule {
    /// pattern to match
    #[name("type")]
    pub kind: FlowType,
    /// ignored: the router chooses the index
    pub index: u32,
    /// actions on matching packets
    pub actions: FlowAction,
    /// mark to set on packets
    pub mark_flow_id: u32,
    /// node to redirect packets to
    pub redirect_node_index: u32,
    /// ignored
    pub redirect_device_input_next_index: u32,
    /// queue to redirect packets to
    pub redirect_queue: u32,
    /// bytes to skip at the start of packets
    pub buffer_advance: i32,
    /// pattern to match
    #[discriminator("type")]
    pub flow: Overlay<Flow>,
}

/// A rule.
#[derive(Clone, Record)]
#[file("vnet/flow/flow_types.api")]
pub struct FlowRuleV2 {
    /// pattern to match
    #[name("type")]
    pub kind: FlowTypeV2,
    /// ignored: the router chooses the index
    pub index: u32,
    /// actions on matching packets
    pub actions: FlowActionV2,
    /// mark to set on packets
    pub mark_flow_id: u32,
    /// node to redirect packets to
    pub redirect_node_index: u32,
    /// ignored
    pub redirect_device_input_next_index: u32,
    /// queue to redirect packets to
    pub redirect_queue: u32,
    /// first queue of the RSS set
    pub queue_index: u32,
    /// number of queues in the RSS set
    pub queue_num: u32,
    /// bytes to skip at the start of packets
    pub buffer_advance: i32,
    /// RSS hash fields
    pub rss_types: u64,
    /// RSS hash function
    pub rss_fun: RssFunction,
    /// pattern to match
    #[discriminator("type")]
    pub flow: Overlay<FlowV2>,
}

/// Add a flow rule.
#[derive(Message)]
#[option("deprecated")]
#[reply(FlowAddReply)]
#[option(
    "vat_help",
    "flow add [src-ip <ip-addr/mask>] [dst-ip <ip-addr/mask>] [src-port <port/mask>] [dst-port \
     <port/mask>] [proto <ip-proto>]"
)]
pub struct FlowAdd {
    /// the rule
    pub flow: FlowRule,
}

/// Reply: index of the rule.
#[derive(Message)]
#[option("deprecated")]
pub struct FlowAddReply {
    /// index
    pub flow_index: u32,
}

/// Add a flow rule.
#[derive(Message)]
#[reply(FlowAddV2Reply)]
#[option(
    "vat_help",
    "flow add [src-ip <ip-addr/mask>] [dst-ip <ip-addr/mask>] [src-port <port/mask>] [dst-port \
     <port/mask>] [proto <ip-proto>] [spec <spec-string>] [mask <mask-string>]"
)]
pub struct FlowAddV2 {
    /// the rule
    pub flow: FlowRuleV2,
}

/// Reply: index of the rule.
#[derive(Message)]
pub struct FlowAddV2Reply {
    /// index
    pub flow_index: u32,
}

/// Delete a flow rule.
#[derive(Message)]
#[option("vat_help", "flow del index <index>")]
pub struct FlowDel {
    /// index
    pub flow_index: u32,
}

/// Enable a flow rule on an interface's NIC.
#[derive(Message)]
#[option("vat_help", "flow enable index <index> <interface name>")]
pub struct FlowEnable {
    /// rule index
    pub flow_index: u32,
    /// hardware interface index
    pub hw_if_index: u32,
}

/// Disable a flow rule on an interface's NIC.
#[derive(Message)]
#[option("deprecated")]
#[option("vat_help", "flow disable index <index> <interface name>")]
pub struct FlowDisable {
    /// rule index
    pub flow_index: u32,
    /// hardware interface index
    pub hw_if_index: u32,
}

/// Disable a flow rule on the NIC that has it enabled.
#[derive(Message)]
#[option("vat_help", "flow disable index <index>")]
pub struct FlowDisableV2 {
    /// rule index
    pub flow_index: u32,
}

/// The actions of a rule, but for the spreading.
fn actions(
    bits: u32,
    numbers: [u32; 3],
    advance: i32,
    router: &Router,
) -> Result<Vec<Action>, Retval> {
    let [mark, node, queue] = numbers;
    let has = |flag: FlowActionV2| bits & flag.0 != 0;
    let mut found = Vec::new();
    if has(FlowActionV2::REDIRECT_TO_NODE) {
        let name = router.engine.node_names().find(|(index, _)| index.0 == node);
        let (_, name) = name.ok_or(Retval::NO_SUCH_NODE)?;
        found.push(Action::Node(name.to_owned()));
    }
    let others = [
        (FlowActionV2::COUNT, Action::Count),
        (FlowActionV2::MARK, Action::Mark(mark)),
        (FlowActionV2::BUFFER_ADVANCE, Action::Advance(advance)),
        (FlowActionV2::REDIRECT_TO_QUEUE, Action::Queue(queue)),
        (FlowActionV2::DROP, Action::Drop),
    ];
    found.extend(others.into_iter().filter(|(flag, _)| has(*flag)).map(|(_, action)| action));
    Ok(found)
}

fn keep(router: &mut Router, matches: Vec<Match>, actions: Vec<Action>) -> Result<u32, Retval> {
    if matches.is_empty() || actions.is_empty() {
        return Err(Retval::INVALID_VALUE);
    }
    let rule = Rule { matches, actions };
    super::with(router, |rules| rules.add(None, rule)).map_err(super::retval)
}

fn add(
    router: &mut Router,
    FlowRule { flow, kind, .. }: FlowRule,
    done: Vec<Action>,
) -> Result<u32, Retval> {
    keep(router, arms::matches(kind.0, &flow)?, done)
}

fn spread(rule: &FlowRuleV2) -> Result<Option<Action>, Retval> {
    if rule.actions.0 & FlowActionV2::RSS.0 == 0 {
        return Ok(None);
    }
    let name = match rule.rss_fun {
        RssFunction::DEFAULT => "default",
        RssFunction::TOEPLITZ => "toeplitz",
        RssFunction::SIMPLE_XOR => "simple_xor",
        RssFunction::SYMMETRIC_TOEPLITZ => "symmetric_toeplitz",
        _ => return Err(Retval::INVALID_VALUE),
    };
    let last = rule.queue_index.checked_add(rule.queue_num.saturating_sub(1));
    let last = last.ok_or(Retval::INVALID_VALUE)?;
    Ok(Some(Action::Spread(name.to_owned(), rule.rss_types, rule.queue_index, last)))
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("flow", "1.0.4")
        .call(|router: &mut Router, FlowAdd { flow: rule }| {
            let numbers = [rule.mark_flow_id, rule.redirect_node_index, rule.redirect_queue];
            let done = actions(rule.actions.0, numbers, rule.buffer_advance, router)?;
            Ok(FlowAddReply { flow_index: add(router, rule, done)? })
        })
        .call(|router: &mut Router, FlowAddV2 { flow: rule }| {
            let numbers = [rule.mark_flow_id, rule.redirect_node_index, rule.redirect_queue];
            let mut done = actions(rule.actions.0, numbers, rule.buffer_advance, router)?;
            done.extend(spread(&rule)?);
            let matches = arms::matches(rule.kind.0, &rule.flow)?;
            Ok(FlowAddV2Reply { flow_index: keep(router, matches, done)? })
        })
        .call(|router: &mut Router, m: FlowDel| {
            super::with(router, |rules| rules.delete(m.flow_index)).map_err(super::retval)
        })
        .call(|router: &mut Router, m: FlowEnable| {
            Ok(super::enable(router, m.flow_index, net::InterfaceIndex(m.hw_if_index))?)
        })
        .call(|router: &mut Router, m: FlowDisable| Ok(super::disable(router, m.flow_index)?))
        .call(|router: &mut Router, m: FlowDisableV2| Ok(super::disable(router, m.flow_index)?));
}
