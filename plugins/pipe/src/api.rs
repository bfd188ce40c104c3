//! Messages of the module `pipe`.

use net::prelude::*;

use super::Pipes;

/// Create a pipe.
#[derive(Message)]
#[reply(PipeCreateReply)]
pub struct PipeCreate {
    /// true if `user_instance` is valid
    pub is_specified: bool,
    /// instance number in the interface name
    pub user_instance: u32,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct PipeCreateReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// its two ends
    pub pipe_sw_if_index: [InterfaceIndex; 2],
}

/// Delete a pipe.
#[derive(Message)]
pub struct PipeDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List pipes.
#[derive(Message)]
#[details(PipeDetails)]
pub struct PipeDump {}

/// A pipe.
#[derive(Debug, Message)]
pub struct PipeDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// its two ends
    pub pipe_sw_if_index: [InterfaceIndex; 2],
    /// instance number in the interface name
    pub instance: u32,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("pipe", "1.0.1")
        .call(|router: &mut Router, m: PipeCreate| {
            let instance = m.is_specified.then_some(m.user_instance);
            let sw_if_index = super::create(router, instance)?;
            let pipe_sw_if_index = router.own::<Pipes>().0[&sw_if_index].ends;
            Ok(PipeCreateReply { sw_if_index, pipe_sw_if_index })
        })
        .call(|router, m: PipeDelete| Ok(super::delete(router, m.sw_if_index)?))
        .dump(|router, _: PipeDump| {
            let all = router.own::<Pipes>().0.iter();
            let row = |(index, pipe): (&InterfaceIndex, &super::Pipe)| PipeDetails {
                sw_if_index: *index,
                pipe_sw_if_index: pipe.ends,
                instance: pipe.instance,
            };
            all.map(row).collect()
        });
}
