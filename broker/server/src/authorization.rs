//! The hook that every handler passes before it does something for a principal.
//!
//! Until access control lists come there is one answer, yes; but the questions are asked where they
//! will be, so that a handler without one is a mistake that shows today.

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Read records or offsets.
    Read,
    /// Write records.
    Write,
    /// Create a topic or partitions.
    Create,
    /// Delete a topic, records, groups or offsets.
    Delete,
    /// Change partitions or other properties.
    Alter,
    /// See that something exists.
    Describe,
    /// See configs.
    DescribeConfigs,
    /// Change configs.
    AlterConfigs,
}

/// To what it is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource<'a> {
    /// A topic, by name.
    Topic(&'a str),
    /// A group, by name.
    Group(&'a str),
    /// The cluster.
    Cluster,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Principal {
    /// The authenticated name; `None` for a connection without authentication.
    pub name: Option<String>,
}

/// Decides who may do what.
pub trait Authorizer: Send + Sync + 'static {
    /// Whether `principal` may do `operation` to `resource`.
    fn authorize(
        &self,
        principal: &Principal,
        operation: Operation,
        resource: Resource<'_>,
    ) -> bool;
}

/// Lets everyone do everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize(&self, _: &Principal, _: Operation, _: Resource<'_>) -> bool {
        true
    }
}
