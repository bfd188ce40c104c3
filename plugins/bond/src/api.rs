//! Messages of the module `bond`.

use control::api::{Api, Message, Retval, Text};
use net::{InterfaceIndex, InterfaceReply, Router};
use wire::MacAddr;

use super::{Balance, Bond, Bonds, Config, Member, Mode};

control::numbers! {
    /// Way in which a bond chooses members.
    pub enum BondMode: u32 = "bond_mode" in "" {
        ROUND_ROBIN = 1 => "BOND_API_MODE_ROUND_ROBIN",
        ACTIVE_BACKUP = 2 => "BOND_API_MODE_ACTIVE_BACKUP",
        XOR = 3 => "BOND_API_MODE_XOR",
        BROADCAST = 4 => "BOND_API_MODE_BROADCAST",
        LACP = 5 => "BOND_API_MODE_LACP",
    }
    /// Fields of a packet that count for that; for modes that choose otherwise, the mode.
    pub enum BondLbAlgo: u32 = "bond_lb_algo" in "" {
        L2 = 0 => "BOND_API_LB_ALGO_L2",
        L34 = 1 => "BOND_API_LB_ALGO_L34",
        L23 = 2 => "BOND_API_LB_ALGO_L23",
        RR = 3 => "BOND_API_LB_ALGO_RR",
        BC = 4 => "BOND_API_LB_ALGO_BC",
        AB = 5 => "BOND_API_LB_ALGO_AB",
    }
}

/// Make a bond.
#[derive(Message)]
#[option("deprecated")]
#[reply(BondCreateReply)]
pub struct BondCreate {
    /// the number in its name; 4294967295 for the lowest free one
    #[preset(4294967295)]
    pub id: u32,
    /// whether the address counts
    pub use_custom_mac: bool,
    /// its address
    pub mac_address: MacAddr,
    /// choice of members
    pub mode: BondMode,
    /// fields of a packet that count for that
    pub lb: BondLbAlgo,
    /// prefer members on the processor's own NUMA node
    pub numa_only: bool,
}

/// It is made.
#[derive(Message)]
pub struct BondCreateReply {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Make a bond.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct BondCreate2 {
    /// choice of members
    pub mode: BondMode,
    /// fields of a packet that count for that
    pub lb: BondLbAlgo,
    /// prefer members on the processor's own NUMA node
    pub numa_only: bool,
    /// carry big packets; they are in any case
    pub enable_gso: bool,
    /// whether the address counts
    pub use_custom_mac: bool,
    /// its address
    pub mac_address: MacAddr,
    /// the number in its name; 4294967295 for the lowest free one
    #[preset(4294967295)]
    pub id: u32,
}

/// Delete a bond.
#[derive(Message)]
pub struct BondDelete {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Have an interface be a member of a bond.
#[derive(Message)]
#[option("deprecated")]
#[reply(BondEnslaveReply)]
pub struct BondEnslave {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the bond
    pub bond_sw_if_index: InterfaceIndex,
    /// answer in LACP, do not begin
    pub is_passive: bool,
    /// hear of the other end every 30 seconds instead of every one
    pub is_long_timeout: bool,
}

/// It is one.
#[derive(Message)]
pub struct BondEnslaveReply {}

/// Have an interface be a member of a bond.
#[derive(Message)]
#[reply(BondAddMemberReply)]
pub struct BondAddMember {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// the bond
    pub bond_sw_if_index: InterfaceIndex,
    /// answer in LACP, do not begin
    pub is_passive: bool,
    /// hear of the other end every 30 seconds instead of every one
    pub is_long_timeout: bool,
}

/// It is one.
#[derive(Message)]
pub struct BondAddMemberReply {}

/// Have an interface be a member no longer.
#[derive(Message)]
#[option("deprecated")]
#[reply(BondDetachSlaveReply)]
pub struct BondDetachSlave {
    /// the member
    pub sw_if_index: InterfaceIndex,
}

/// It is none.
#[derive(Message)]
#[option("deprecated")]
pub struct BondDetachSlaveReply {}

/// Have an interface be a member no longer.
#[derive(Message)]
pub struct BondDetachMember {
    /// the member
    pub sw_if_index: InterfaceIndex,
}

/// List the bonds.
#[derive(Message)]
#[option("deprecated")]
#[details(SwInterfaceBondDetails)]
pub struct SwInterfaceBondDump {}

/// A bond.
#[derive(Debug, Message)]
pub struct SwInterfaceBondDetails {
    /// its number
    pub sw_if_index: InterfaceIndex,
    /// the number in its name
    pub id: u32,
    /// choice of members
    pub mode: BondMode,
    /// fields of a packet that count for that
    pub lb: BondLbAlgo,
    /// members on the processor's own NUMA node are preferred
    pub numa_only: bool,
    /// members that it sends to
    pub active_slaves: u32,
    /// members
    pub slaves: u32,
    /// its name
    pub interface_name: Text<64>,
}

/// List the bonds.
#[derive(Message)]
#[details(SwBondInterfaceDetails)]
pub struct SwBondInterfaceDump {
    /// only this one; 4294967295 for all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// A bond.
#[derive(Debug, Message)]
pub struct SwBondInterfaceDetails {
    /// its number
    pub sw_if_index: InterfaceIndex,
    /// the number in its name
    pub id: u32,
    /// choice of members
    pub mode: BondMode,
    /// fields of a packet that count for that
    pub lb: BondLbAlgo,
    /// members on the processor's own NUMA node are preferred
    pub numa_only: bool,
    /// members that it sends to
    pub active_members: u32,
    /// members
    pub members: u32,
    /// its name
    pub interface_name: Text<64>,
}

/// List the members of a bond.
#[derive(Message)]
#[option("deprecated")]
#[details(SwInterfaceSlaveDetails)]
pub struct SwInterfaceSlaveDump {
    /// the bond
    pub sw_if_index: InterfaceIndex,
}

/// A member of a bond.
#[derive(Debug, Message)]
pub struct SwInterfaceSlaveDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// its name
    pub interface_name: Text<64>,
    /// only answers in LACP
    pub is_passive: bool,
    /// hears of the other end every 30 seconds
    pub is_long_timeout: bool,
    /// on the processor's own NUMA node
    pub is_local_numa: bool,
    /// preference in mode active-backup; more is better
    pub weight: u32,
}

/// List the members of a bond.
#[derive(Message)]
#[details(SwMemberInterfaceDetails)]
pub struct SwMemberInterfaceDump {
    /// the bond
    pub sw_if_index: InterfaceIndex,
}

/// A member of a bond.
#[derive(Debug, Message)]
pub struct SwMemberInterfaceDetails {
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// its name
    pub interface_name: Text<64>,
    /// only answers in LACP
    pub is_passive: bool,
    /// hears of the other end every 30 seconds
    pub is_long_timeout: bool,
    /// on the processor's own NUMA node
    pub is_local_numa: bool,
    /// preference in mode active-backup; more is better
    pub weight: u32,
}

/// Set how much a member is preferred.
#[derive(Message)]
pub struct SwInterfaceSetBondWeight {
    /// the member
    pub sw_if_index: InterfaceIndex,
    /// the heaviest member is the active one
    pub weight: u32,
}

impl BondMode {
    fn mode(self) -> Result<Mode, Retval> {
        let found = Mode::WORDS.iter().find(|(mode, _)| *mode as u32 == self.0);
        found.map(|(mode, _)| *mode).ok_or(Retval::INVALID_ARGUMENT)
    }
}

/// Modes that do not balance take any number.
fn balance(mode: Mode, lb: BondLbAlgo) -> Result<Balance, Retval> {
    if !mode.balances() {
        return Ok(Balance::default());
    }
    let found = Balance::WORDS.iter().find(|(balance, _)| *balance as u32 == lb.0);
    found.map(|(balance, _)| *balance).ok_or(Retval::INVALID_ARGUMENT)
}

fn algorithm(config: &Config) -> BondLbAlgo {
    match config.mode {
        Mode::RoundRobin => BondLbAlgo::RR,
        Mode::Broadcast => BondLbAlgo::BC,
        Mode::ActiveBackup => BondLbAlgo::AB,
        Mode::Xor | Mode::Lacp => BondLbAlgo(config.balance as u32),
    }
}

fn create(router: &mut Router, m: BondCreate2) -> Result<InterfaceIndex, Retval> {
    let mode = m.mode.mode()?;
    let config = Config {
        id: Some(m.id).filter(|id| *id != u32::MAX),
        mode,
        balance: balance(mode, m.lb)?,
        numa_only: m.numa_only,
        gso: m.enable_gso,
        mac: m.use_custom_mac.then_some(m.mac_address),
    };
    Ok(super::create(router, config)?)
}

fn bond_row(router: &Router, index: InterfaceIndex, bond: &Bond) -> SwBondInterfaceDetails {
    SwBondInterfaceDetails {
        sw_if_index: index,
        id: bond.id,
        mode: BondMode(bond.config.mode as u32),
        lb: algorithm(&bond.config),
        numa_only: bond.config.numa_only,
        active_members: bond.active.len() as u32,
        members: bond.members.len() as u32,
        interface_name: router.interfaces.name(index.0).to_owned().into(),
    }
}

fn bonds(router: &Router, only: InterfaceIndex) -> Vec<SwBondInterfaceDetails> {
    let all = router.own::<Bonds>().bonds.iter();
    let chosen = all.filter(|(index, _)| only.0 == u32::MAX || **index == only);
    chosen.map(|(index, bond)| bond_row(router, *index, bond)).collect()
}

fn member_row(router: &Router, index: InterfaceIndex, member: &Member) -> SwMemberInterfaceDetails {
    SwMemberInterfaceDetails {
        sw_if_index: index,
        interface_name: router.interfaces.name(index.0).to_owned().into(),
        is_passive: member.is_passive,
        is_long_timeout: member.is_long_timeout,
        // Interfaces say no NUMA node: all of them are near.
        is_local_numa: true,
        weight: member.weight,
    }
}

fn members(router: &Router, of: InterfaceIndex) -> Vec<SwMemberInterfaceDetails> {
    let all = router.own::<Bonds>();
    let members = all.bonds.get(&of).into_iter().flat_map(|bond| &bond.members);
    members.map(|index| member_row(router, *index, &all.members[index])).collect()
}

impl From<SwBondInterfaceDetails> for SwInterfaceBondDetails {
    fn from(row: SwBondInterfaceDetails) -> Self {
        Self {
            sw_if_index: row.sw_if_index,
            id: row.id,
            mode: row.mode,
            lb: row.lb,
            numa_only: row.numa_only,
            active_slaves: row.active_members,
            slaves: row.members,
            interface_name: row.interface_name,
        }
    }
}

impl From<SwMemberInterfaceDetails> for SwInterfaceSlaveDetails {
    fn from(row: SwMemberInterfaceDetails) -> Self {
        Self {
            sw_if_index: row.sw_if_index,
            interface_name: row.interface_name,
            is_passive: row.is_passive,
            is_long_timeout: row.is_long_timeout,
            is_local_numa: row.is_local_numa,
            weight: row.weight,
        }
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("bond", "2.1.0")
        .call(|router: &mut Router, m: BondCreate| {
            let BondCreate { id, use_custom_mac, mac_address, mode, lb, numa_only } = m;
            let enable_gso = false;
            let m =
                BondCreate2 { mode, lb, numa_only, enable_gso, use_custom_mac, mac_address, id };
            Ok(BondCreateReply { sw_if_index: create(router, m)? })
        })
        .call(|router, m: BondCreate2| Ok(InterfaceReply { sw_if_index: create(router, m)? }))
        .call(|router, m: BondDelete| Ok(super::delete(router, m.sw_if_index)?))
        .call(|router, m: BondEnslave| {
            let how = (m.is_passive, m.is_long_timeout);
            super::add_member(router, m.sw_if_index, m.bond_sw_if_index, how)?;
            Ok(BondEnslaveReply {})
        })
        .call(|router, m: BondAddMember| {
            let how = (m.is_passive, m.is_long_timeout);
            super::add_member(router, m.sw_if_index, m.bond_sw_if_index, how)?;
            Ok(BondAddMemberReply {})
        })
        .call(|router, m: BondDetachSlave| {
            super::detach(router, m.sw_if_index)?;
            Ok(BondDetachSlaveReply {})
        })
        .call(|router, m: BondDetachMember| Ok(super::detach(router, m.sw_if_index)?))
        .call(|router, m: SwInterfaceSetBondWeight| {
            Ok(super::set_weight(router, m.sw_if_index, m.weight)?)
        })
        .dump(|router, _: SwInterfaceBondDump| {
            bonds(router, InterfaceIndex(u32::MAX)).into_iter().map(Into::into).collect()
        })
        .dump(|router, m: SwBondInterfaceDump| bonds(router, m.sw_if_index))
        .dump(|router, m: SwInterfaceSlaveDump| {
            members(router, m.sw_if_index).into_iter().map(Into::into).collect()
        })
        .dump(|router, m: SwMemberInterfaceDump| members(router, m.sw_if_index));
}
