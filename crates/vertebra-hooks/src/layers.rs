//! Registries that are made of two others: a parent's hooks and a child's, or an agent's and those of one prompt.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, atomic::AtomicU64},
};

use crate::{
    Hooks, Reach,
    registry::{Inner, Snapshot},
    set::Registered,
};

/// The two registries whose hooks a third one has.
pub(crate) struct Layers {
    pub(crate) parent: Hooks,
    pub(crate) own: Hooks,
    pub(crate) layer: Layer,
    /// The epoch at which they were last looked at.
    pub(crate) seen: AtomicU64,
    /// What was put together then.
    pub(crate) merged: Mutex<Option<[Arc<Snapshot>; 2]>>,
}

/// Whose hooks the second of two layers are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// A child's, which does not have all that its parent has.
    Child,
    /// The same agent's.
    Same,
}

impl Layers {
    pub(crate) fn new(parent: Hooks, own: Hooks, layer: Layer) -> Self {
        Self { parent, own, layer, seen: AtomicU64::new(u64::MAX), merged: Mutex::default() }
    }
}

/// The hooks of two layers.
pub(crate) fn joined<'r>(
    layer: Layer,
    parent: impl IntoIterator<Item = &'r Registered>,
    own: impl IntoIterator<Item = &'r Registered>,
) -> impl Iterator<Item = &'r Registered> {
    let is_passed_on = move |one: &&Registered| layer == Layer::Same || one.info.reach == Reach::Children;
    let parents: Vec<_> = parent.into_iter().filter(is_passed_on).collect();
    let known: HashSet<_> = parents.iter().map(|one| one.id()).collect();
    // An agent that reaches itself brings no hook twice.
    let own = own.into_iter().filter(move |one| !known.contains(&one.id()));
    parents.into_iter().chain(own)
}

/// The hooks that a registry has, or would have after a change of one of its layers.
pub(crate) enum Tree {
    Alone(Arc<Snapshot>),
    Layered(Layer, Box<[Tree; 2]>),
}

impl Tree {
    /// The layers of a registry, with one of them changed.
    pub(crate) fn of(hooks: &Hooks, change: Option<(&Arc<Inner>, &Arc<Snapshot>)>) -> Self {
        match (&hooks.inner.layers, change) {
            (_, Some((changed, next))) if Arc::ptr_eq(changed, &hooks.inner) => Self::Alone(next.clone()),
            (None, _) => Self::Alone(hooks.inner.snapshot.load_full()),
            (Some(Layers { parent, own, layer, .. }), _) => {
                Self::Layered(*layer, Box::new([Self::of(parent, change), Self::of(own, change)]))
            }
        }
    }

    pub(crate) fn hooks(&self) -> Vec<&Registered> {
        match self {
            Self::Alone(snapshot) => snapshot.registered.iter().collect(),
            Self::Layered(layer, layers) => {
                let [parent, own] = &**layers;
                joined(*layer, parent.hooks(), own.hooks()).collect()
            }
        }
    }
}
