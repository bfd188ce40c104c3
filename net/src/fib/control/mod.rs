//! Control-plane state of routing: tables, routes by source, path lists, and what follows from a
//! change.

pub(super) mod attached_export;
mod chain_mtu;
pub(super) mod deferred;
pub(super) mod failed;
pub(super) mod foreign;
pub(super) mod gauges;
pub(super) mod health;
mod hosts;
pub(super) mod labels;
pub(super) mod load_balance_map;
pub(super) mod ordered_map;
pub(super) mod path;
pub(super) mod path_list;
pub(super) mod prefix_bitmap;
mod resolve;
pub(super) mod routes;
pub(super) mod source;
mod stack;
pub(super) mod table;
pub(super) mod tracking;
mod vrf;
