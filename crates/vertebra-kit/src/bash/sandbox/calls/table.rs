//! Every system call that the sandbox knows, and what becomes of it. The filter and a section of `docs/sandbox.md` are both
//! made from this table. A call that is not in it gets `ENOSYS`, so that libraries fall back to an older one.

#[cfg(test)]
use std::fmt::Write as _;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// It works as always.
    Allowed,
    /// It works, except with arguments that the [`Limit`] refuses with `EPERM`.
    Limited(Limit),
    /// The supervisor makes it on behalf of the command, if the arguments are what [`When`] says.
    Minded(When),
    /// It fails with `EPERM`.
    Refused,
    /// It fails with `EOPNOTSUPP`, as on a file system that does not have it.
    Unsupported,
    /// It fails with `ENOSYS`, as if the kernel did not have it.
    Missing,
}

/// Which arguments are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// Sockets of the network, and Unix sockets that can reach a name.
    Sockets,
    /// Pairs of datagram sockets: they can be connected to a name later.
    Pairs,
    /// Flags that make namespaces.
    Namespaces,
    /// Typing into a terminal, and changes of files that Landlock does not know.
    Requests,
    /// Leases: whoever opens the file has to wait.
    Leases,
    /// Any process but the caller.
    OtherProcess,
    /// Any process but the caller, where the second argument names it; and groups and users.
    OtherTarget,
    /// As [`OtherTarget`](Self::OtherTarget), for a call that counts its kinds from one.
    OtherIoTarget,
}

/// When the supervisor is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// The flags (in this argument) open for writing, create or truncate.
    Opens(u8),
    /// Other commands of the session are under way.
    Neighbours,
}

/// Calls that are treated alike, and why.
pub(super) struct Group {
    #[cfg_attr(not(test), expect(dead_code, reason = "the page is made from it"))]
    pub(super) what: &'static str,
    pub(super) rule: Rule,
    pub(super) calls: &'static [(&'static str, i64)],
}

/// Names of calls with their numbers: `SYS_read` as `read`.
macro_rules! calls {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

/// All groups of this platform.
pub(super) fn groups() -> impl Iterator<Item = &'static Group> {
    COMMON.iter().chain(LEGACY)
}

const COMMON: &[Group] = &[
    Group {
        what: "files that are open, and looking at names",
        rule: Rule::Allowed,
        calls: calls![
            SYS_chdir SYS_close SYS_close_range SYS_copy_file_range SYS_dup SYS_dup3 SYS_faccessat SYS_faccessat2
            SYS_fadvise64 SYS_fallocate SYS_fchdir SYS_fdatasync SYS_fgetxattr
            SYS_flistxattr SYS_flock SYS_fstat SYS_fstatfs SYS_fsync SYS_ftruncate
            SYS_getcwd SYS_getdents64 SYS_getxattr SYS_lgetxattr SYS_listxattr SYS_llistxattr SYS_lseek
            SYS_name_to_handle_at SYS_newfstatat SYS_pipe2 SYS_pread64 SYS_preadv SYS_preadv2 SYS_pwrite64
            SYS_pwritev SYS_pwritev2 SYS_read SYS_readahead SYS_readlinkat SYS_readv SYS_sendfile
            SYS_splice SYS_statfs SYS_statx SYS_sync SYS_syncfs SYS_tee SYS_utimensat SYS_vmsplice SYS_write
            SYS_writev
        ],
    },
    Group {
        what: "memory",
        rule: Rule::Allowed,
        calls: calls![
            SYS_brk SYS_get_mempolicy SYS_madvise SYS_mbind SYS_membarrier SYS_memfd_create SYS_memfd_secret SYS_mincore
            SYS_mlock SYS_mlock2 SYS_mlockall SYS_mmap SYS_mprotect SYS_mremap SYS_mseal SYS_msync SYS_munlock
            SYS_munlockall SYS_munmap SYS_pkey_alloc SYS_pkey_free SYS_pkey_mprotect SYS_remap_file_pages
            SYS_set_mempolicy SYS_set_mempolicy_home_node
        ],
    },
    Group {
        what: "processes, threads and signals",
        rule: Rule::Allowed,
        calls: calls![
            SYS_capget SYS_capset SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_futex SYS_futex_waitv
            SYS_get_robust_list SYS_getcpu SYS_getegid SYS_geteuid SYS_getgid SYS_getgroups SYS_getpgid SYS_getpid
            SYS_getppid SYS_getpriority SYS_getresgid SYS_getresuid SYS_getrusage SYS_getsid SYS_gettid SYS_getuid
            SYS_ioprio_get SYS_landlock_add_rule SYS_landlock_create_ruleset SYS_landlock_restrict_self
            SYS_personality SYS_pidfd_open SYS_prctl SYS_restart_syscall SYS_rseq SYS_rt_sigaction
            SYS_rt_sigpending SYS_rt_sigprocmask SYS_rt_sigqueueinfo SYS_rt_sigreturn SYS_rt_sigsuspend
            SYS_rt_sigtimedwait SYS_rt_tgsigqueueinfo SYS_sched_get_priority_max SYS_sched_get_priority_min
            SYS_sched_getaffinity SYS_sched_getattr SYS_sched_getparam SYS_sched_getscheduler SYS_sched_rr_get_interval
            SYS_sched_yield SYS_seccomp SYS_set_robust_list SYS_set_tid_address SYS_setpgid SYS_setsid SYS_sigaltstack
            SYS_signalfd4 SYS_tgkill SYS_tkill SYS_wait4 SYS_waitid
        ],
    },
    Group {
        what: "time, waiting and events",
        rule: Rule::Allowed,
        calls: calls![
            SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait
            SYS_epoll_pwait2 SYS_eventfd2 SYS_getitimer SYS_getrandom SYS_gettimeofday SYS_inotify_add_watch
            SYS_inotify_init1 SYS_inotify_rm_watch SYS_io_cancel SYS_io_destroy SYS_io_getevents SYS_io_setup
            SYS_io_submit SYS_nanosleep SYS_ppoll SYS_pselect6 SYS_setitimer SYS_sysinfo SYS_timer_create
            SYS_timer_delete SYS_timer_getoverrun SYS_timer_gettime SYS_timer_settime SYS_timerfd_create
            SYS_timerfd_gettime SYS_timerfd_settime SYS_times SYS_uname
        ],
    },
    Group {
        what: "sockets that are open",
        rule: Rule::Allowed,
        calls: calls![
            SYS_accept SYS_accept4 SYS_bind SYS_connect SYS_getpeername SYS_getsockname SYS_getsockopt SYS_listen
            SYS_recvfrom SYS_recvmmsg SYS_recvmsg SYS_sendmmsg SYS_sendmsg SYS_sendto SYS_setsockopt SYS_shutdown
        ],
    },
    Group {
        what: "sockets of a family that is closed (with the network off: all but Unix sockets), raw sockets, and Unix sockets that are no streams",
        rule: Rule::Limited(Limit::Sockets),
        calls: calls![SYS_socket],
    },
    Group {
        what: "pairs of datagram sockets, which can be connected to the socket of another process later",
        rule: Rule::Limited(Limit::Pairs),
        calls: calls![SYS_socketpair],
    },
    Group { what: "new namespaces", rule: Rule::Limited(Limit::Namespaces), calls: calls![SYS_clone] },
    Group {
        what: "typing into a terminal (`TIOCSTI`, `TIOCLINUX`), attributes of files (`chattr`), and volumes of btrfs",
        rule: Rule::Limited(Limit::Requests),
        calls: calls![SYS_ioctl],
    },
    Group {
        what: "leases (`F_SETLEASE`), which make other programs wait when they open the file",
        rule: Rule::Limited(Limit::Leases),
        calls: calls![SYS_fcntl],
    },
    Group {
        what: "limits, processors and memory of a process outside of the command",
        rule: Rule::Limited(Limit::OtherProcess),
        calls: calls![
            SYS_migrate_pages SYS_move_pages SYS_prlimit64 SYS_sched_setaffinity SYS_sched_setattr SYS_sched_setparam
            SYS_sched_setscheduler
        ],
    },
    Group {
        what: "priorities of a process outside of the command, and of groups and users",
        rule: Rule::Limited(Limit::OtherTarget),
        calls: calls![SYS_setpriority],
    },
    Group {
        what: "disk priorities of a process outside of the command, and of groups and users",
        rule: Rule::Limited(Limit::OtherIoTarget),
        calls: calls![SYS_ioprio_set],
    },
    Group {
        what: "opening for writing, creating or truncating",
        rule: Rule::Minded(When::Opens(2)),
        calls: calls![SYS_openat],
    },
    Group {
        what: "making, renaming, linking and removing names",
        rule: Rule::Minded(When::Always),
        calls: calls![
            SYS_linkat SYS_mkdirat SYS_mknodat SYS_renameat2 SYS_symlinkat SYS_truncate SYS_unlinkat
        ],
    },
    Group {
        what: "changing modes and owners",
        rule: Rule::Minded(When::Always),
        calls: calls![SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat],
    },
    Group {
        what: "extended attributes, by which access lists change modes",
        rule: Rule::Unsupported,
        calls: calls![
            SYS_fremovexattr SYS_fsetxattr SYS_lremovexattr SYS_lsetxattr SYS_removexattr SYS_setxattr
        ],
    },
    Group {
        what: "the identity under which files are made",
        rule: Rule::Minded(When::Always),
        calls: calls![
            SYS_setfsgid SYS_setfsuid SYS_setgid SYS_setgroups SYS_setregid SYS_setresgid SYS_setresuid SYS_setreuid
            SYS_setuid SYS_umask
        ],
    },
    Group {
        what: "signals to processes of another command of the session; all others pass as always",
        rule: Rule::Minded(When::Neighbours),
        calls: calls![SYS_kill SYS_pidfd_send_signal],
    },
    Group {
        what: "other processes",
        rule: Rule::Refused,
        calls: calls![
            SYS_kcmp SYS_pidfd_getfd SYS_process_madvise SYS_process_mrelease SYS_process_vm_readv
            SYS_process_vm_writev SYS_ptrace
        ],
    },
    Group {
        what: "objects that processes share by number or name: System V shared memory, semaphores and message queues, POSIX message queues",
        rule: Rule::Refused,
        calls: calls![
            SYS_mq_getsetattr SYS_mq_notify SYS_mq_open SYS_mq_timedreceive SYS_mq_timedsend SYS_mq_unlink SYS_msgctl
            SYS_msgget SYS_msgrcv SYS_msgsnd SYS_semctl SYS_semget SYS_semop SYS_semtimedop SYS_shmat SYS_shmctl
            SYS_shmdt SYS_shmget
        ],
    },
    Group {
        what: "namespaces, mounts and file handles",
        rule: Rule::Refused,
        calls: calls![
            SYS_chroot SYS_fsconfig SYS_fsmount SYS_fsopen SYS_fspick SYS_mount SYS_mount_setattr SYS_move_mount
            SYS_open_by_handle_at SYS_open_tree SYS_pivot_root SYS_setns SYS_umount2 SYS_unshare
        ],
    },
    Group {
        what: "keys, programs in the kernel, and doors to its memory",
        rule: Rule::Refused,
        calls: calls![
            SYS_add_key SYS_bpf SYS_fanotify_init SYS_fanotify_mark SYS_keyctl SYS_lookup_dcookie SYS_perf_event_open
            SYS_request_key SYS_syslog SYS_userfaultfd
        ],
    },
    Group {
        what: "the machine",
        rule: Rule::Refused,
        calls: calls![
            SYS_acct SYS_adjtimex SYS_clock_adjtime SYS_clock_settime SYS_delete_module SYS_finit_module SYS_init_module
            SYS_kexec_file_load SYS_kexec_load SYS_quotactl SYS_quotactl_fd SYS_reboot SYS_setdomainname SYS_sethostname
            SYS_settimeofday SYS_swapoff SYS_swapon SYS_vhangup
        ],
    },
    Group {
        what: "calls whose arguments no filter can see, or that make other calls unseen",
        rule: Rule::Missing,
        calls: calls![
            SYS_clone3 SYS_io_uring_enter SYS_io_uring_register SYS_io_uring_setup SYS_openat2
        ],
    },
];

#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[Group] = &[];

/// What only x86-64 has: older forms of the same calls.
#[cfg(target_arch = "x86_64")]
const LEGACY: &[Group] = &[
    Group {
        what: "older forms of allowed calls",
        rule: Rule::Allowed,
        calls: calls![
            SYS_access SYS_alarm SYS_arch_prctl SYS_dup2 SYS_epoll_create SYS_epoll_wait SYS_eventfd SYS_fork
            SYS_futimesat SYS_get_thread_area SYS_getdents SYS_getpgrp SYS_getrlimit SYS_inotify_init
            SYS_lstat SYS_pause SYS_pipe SYS_poll SYS_readlink SYS_select SYS_set_thread_area SYS_setrlimit SYS_signalfd
            SYS_stat SYS_sync_file_range SYS_time SYS_utime SYS_utimes SYS_vfork
        ],
    },
    Group {
        what: "opening for writing, creating or truncating",
        rule: Rule::Minded(When::Opens(1)),
        calls: calls![SYS_open],
    },
    Group {
        what: "making, renaming, linking and removing names",
        rule: Rule::Minded(When::Always),
        calls: calls![
            SYS_creat SYS_link SYS_mkdir SYS_mknod SYS_rename SYS_renameat SYS_rmdir SYS_symlink SYS_unlink
        ],
    },
    Group {
        what: "changing modes and owners",
        rule: Rule::Minded(When::Always),
        calls: calls![SYS_chmod SYS_chown SYS_lchown],
    },
    Group { what: "the machine", rule: Rule::Refused, calls: calls![SYS_ioperm SYS_iopl SYS_modify_ldt] },
    Group {
        what: "calls whose arguments no filter can see, or that make other calls unseen",
        rule: Rule::Missing,
        calls: calls![SYS_fchmodat2],
    },
];

/// The table as `docs/sandbox.md` shows it.
#[cfg(test)]
pub(super) fn page() -> String {
    let mut text = String::from("| Call | What happens |\n| --- | --- |\n");
    let mut row = |calls: &str, what: &str| _ = writeln!(text, "| {calls} | {what} |");
    let named = |wanted: &dyn Fn(Rule) -> bool, what: Option<&str>| {
        let groups = groups().filter(|group| wanted(group.rule) && what.is_none_or(|what| group.what == what));
        let mut names: Vec<&str> =
            groups.flat_map(|group| group.calls).filter_map(|(name, _)| name.strip_prefix("SYS_")).collect();
        names.sort_unstable();
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let mut seen = Vec::new();
    for group in groups() {
        let happens = match group.rule {
            Rule::Allowed => continue,
            Rule::Limited(_) => format!("`EPERM` for {}", group.what),
            Rule::Minded(_) => format!("the supervisor does it: {}", group.what),
            Rule::Refused => format!("`EPERM`: {}", group.what),
            Rule::Unsupported => format!("`EOPNOTSUPP`: {}", group.what),
            Rule::Missing => format!("`ENOSYS`: {}", group.what),
        };
        if !seen.contains(&group.what) {
            seen.push(group.what);
            row(&named(&|rule| rule != Rule::Allowed, Some(group.what)), &happens);
        }
    }
    row("any call that is not in this table", "`ENOSYS`");
    row(&named(&|rule| rule == Rule::Allowed, None), "allowed");
    text
}
