//! Second names: symbolic links, and hard links to files that have a name already.

use std::ffi::CString;

use rustix::{
    fs::{AtFlags, linkat, symlinkat},
    io::Errno,
};

use super::{
    Answer, Minder,
    act::Step,
    guard::{Change, is_in_submodules},
    place::{Last, Place},
    task::Call,
};

impl Minder {
    pub(super) fn make_link(&mut self, call: &Call, to: usize, descriptor: i32, at: usize) -> Step<Answer> {
        let target = CString::new(Self::path(call, to)?).map_err(|_| Answer::Kernel)?;
        let (name, identity) = self.name(call, descriptor, at, Last::Keep)?;
        if name.found.is_some() {
            return Ok(Answer::Failed(Errno::EXIST));
        }
        if name.slash {
            return Ok(Answer::Kernel);
        }
        let judged = self.judged(&name);
        // So git tries whether there are links, in the directory of a submodule too. It leads nowhere else.
        if &*target != c"testing" || !is_in_submodules(&name.path) {
            self.allowed(&name, Change::MakeOther)?;
        }
        self.done(call, identity, || symlinkat(&*target, &name.folder, &name.last))?;
        self.settle(&name, judged)?;
        Ok(Answer::Done)
    }

    pub(super) fn share(&mut self, call: &Call, from: (i32, usize), to: (i32, usize), flags: u32) -> Step<Answer> {
        if AtFlags::from_bits_retain(flags).contains(AtFlags::EMPTY_PATH) {
            return Ok(Answer::Kernel);
        }
        let follows = AtFlags::from_bits_retain(flags).contains(AtFlags::SYMLINK_FOLLOW);
        let path = Self::path(call, from.1)?;
        let identity = self.identity(call)?;
        let last = if follows { Last::Follow } else { Last::Keep };
        let old = match self.place(call, identity, from.0, path, last) {
            Place::Name(old) => old,
            Place::Nowhere(path) => return Ok(self.nowhere(&path)),
            Place::Open(..) | Place::Unknown => return Ok(Answer::Kernel),
        };
        if self.is_foreign_socket(&old) {
            return Ok(Answer::Failed(Errno::PERM));
        }
        let (new, _) = self.name(call, to.0, to.1, Last::Keep)?;
        if new.found.is_some() {
            return Ok(Answer::Failed(Errno::EXIST));
        }
        if old.found.is_none() {
            return Ok(self.nowhere(&old.path));
        }
        if old.slash || new.slash {
            return Ok(Answer::Kernel);
        }
        let judged = self.judged(&new);
        self.allowed(&old, Change::Share)?;
        self.allowed(&new, Change::MakeOther)?;
        self.done(call, identity, || linkat(&old.folder, &old.last, &new.folder, &new.last, AtFlags::empty()))?;
        self.settle(&new, judged)?;
        Ok(Answer::Done)
    }
}
