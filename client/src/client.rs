//! The door: a client of one cluster, from which producers, consumers and admins are made.

use std::sync::Arc;

use crate::admin::Admin;
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::consume::{Consumer, ConsumerConfig};
use crate::environment::Environment;
use crate::error::Result;
use crate::produce::{Producer, ProducerConfig};

/// A client of one cluster. Cheap to clone; holds no connection itself.
///
/// Each producer, consumer and admin has connections of its own, so that none waits behind
/// another's requests.
#[derive(Clone, Debug)]
pub struct Client {
    config: Arc<ClientConfig>,
    environment: Environment,
}

impl Client {
    /// A client in the real world. Nothing is connected yet.
    ///
    /// # Errors
    /// `Invalid` if a setting is out of its range.
    pub fn new(config: ClientConfig) -> Result<Self> {
        Self::in_environment(config, Environment::real())
    }

    /// A client with these ports.
    ///
    /// # Errors
    /// `Invalid` if a setting is out of its range.
    pub fn in_environment(config: ClientConfig, environment: Environment) -> Result<Self> {
        config.validate()?;
        Ok(Self { config: Arc::new(config), environment })
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// A producer. Starts its task; nothing is connected before the first record.
    ///
    /// # Errors
    /// `Invalid` if a setting is out of its range.
    pub fn producer(&self, config: ProducerConfig) -> Result<Producer> {
        Producer::start(self.cluster()?, self.environment.clone(), config)
    }

    /// A consumer that reads nothing yet.
    ///
    /// # Errors
    /// `Invalid` if a setting is out of its range.
    pub fn consumer(&self, config: ConsumerConfig) -> Result<Consumer> {
        Consumer::new(self.cluster()?, self.environment.clone(), config)
    }

    /// An admin.
    ///
    /// # Errors
    /// `Invalid` if the brokers' addresses have no such form.
    pub fn admin(&self) -> Result<Admin> {
        Ok(Admin::new(self.cluster()?))
    }

    fn cluster(&self) -> Result<Cluster> {
        Cluster::new(self.config.clone(), self.environment.clone())
    }
}
