//! Edges to the output of each interface, for nodes that send to any of them.

use std::collections::HashMap;
use std::convert::Infallible;

use control::feature::Refused;
use graph::{Frame, Node, Slot};

use crate::interface::{Change, Edges, EdgesReader, InterfaceIndex};
use crate::router::{Router, refuse};

/// The tables of all such nodes.
#[derive(Default)]
struct Outputs(HashMap<&'static str, Edges>);

/// Adds a node made from the table of its edges to the output of every interface there is and will
/// be.
///
/// # Errors
/// As [`graph::Engine::add`], and the kernel's.
pub fn add<N: Node>(
    router: &mut Router,
    make: impl FnOnce(EdgesReader) -> N,
) -> Result<(), Refused> {
    let table = Edges::new().map_err(refuse)?;
    router.engine.add(make(table.reader())).map_err(refuse)?;
    if router.state::<Outputs>().is_none() {
        router.insert(Outputs::default());
        router.interfaces.observe(follow);
    }
    if let Some(Outputs(tables)) = router.state_mut() {
        tables.insert(N::NAME, table);
    }
    let there: Vec<_> = router.interfaces.iter().map(|i| i.index).collect();
    there.into_iter().for_each(|i| follow(router, i, Change::Added));
    Ok(())
}

/// Gives the nodes an edge to the output of a new interface.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Added {
        return;
    }
    let Some(output) = router.interfaces.at(interface).map(|i| i.output) else { return };
    let output = router.engine.name_of(output).to_owned();
    lead_output(router, interface, &output);
}

/// Makes the nodes send packets for an interface to another node.
pub(crate) fn lead_output(router: &mut Router, interface: InterfaceIndex, output: &str) {
    if router.state::<Outputs>().is_none() {
        return;
    }
    router.with(|outputs: &mut Outputs, router| {
        for (node, table) in &mut outputs.0 {
            let Ok(slot) = router.engine.connect(node, output) else { continue };
            table.set(interface, Some(slot));
        }
    });
}

/// `interface-output`: where packets leave the features on what IP sends.
#[derive(Clone)]
pub struct OutputArcEnd {
    edges: EdgesReader,
}

/// Edges of [`OutputArcEnd`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// `<interface>-output`.
    #[dynamic]
    Output(Slot),
}

/// Drops of [`OutputArcEnd`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// interface is deleted.
    #[name("interface is deleted")]
    Deleted,
}

impl OutputArcEnd {
    pub(super) fn new(edges: EdgesReader) -> Self {
        Self { edges }
    }
}

impl Node for OutputArcEnd {
    const NAME: &'static str = "interface-output";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let edges = self.edges.read(frame.epoch());
        frame.each(|p| edges.to(p.tx()).map(Next::Output).ok_or(Error::Deleted));
    }
}
