//! Names that most features need: `use net::prelude::*`.

pub use std::collections::{BTreeMap, BTreeSet, HashMap};
pub use std::convert::Infallible;
pub use std::marker::PhantomData;
pub use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
pub use std::ops::Range;
pub use std::sync::Arc;
pub use std::time::Duration;
pub use std::{fmt, io};

pub use control::api::{Api, Message, Retval, Text};
pub use control::cli::{
    Args, Arguments, Cli, Command, Error, Line, Output, Print, Value, Words, centred, in_columns,
};
pub use control::configuration::{Lines, Stage};
pub use control::feature::{Refusal, Refused};
pub use control::process::Wake;
pub use graph::{Buffer, BuildError, Continue, Flags, Frame, Names, Node, Packet, Record, Slot};
pub use infra::counter::{Volume, VolumeCounter};
pub use infra::order::Order;
pub use infra::rcu::{Epoch, Reader, Shared, SharedSlab, SlabReader};
pub use serde::Serialize;
pub use wire::ethernet::{self, EtherType};
pub use wire::{
    Ip4Prefix, Ip6Prefix, IpVersion, MacAddr, Prefix, Protocol, icmp4, icmp6, ip4, ip6, tcp, udp,
};
pub use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use crate::adjacency::Link;
pub use crate::events::{Event, EventSender};
pub use crate::fib::{Ip4, Ip6, TableIndex, Target};
pub use crate::interface::{AttachedAt, Change, NoInterface};
pub use crate::ip::{V4, V6, Version};
pub use crate::ip4::IP4_UNICAST;
pub use crate::ip6::IP6_UNICAST;
pub use crate::{Configuration, Feature, InterfaceIndex, Origin, Parts, Router, refuse};
