private import Crdkafka

extension KafkaSecurity {
    /// Whether SCRAM works with Apache Kafka 4 and newer. librdkafka before 2.6.1 repeats its nonce, which older brokers accept and
    /// these refuse as a wrong password.
    package static var signsInToNewBrokersBySCRAM: Bool { rd_kafka_version() >= 0x0206_01ff }
}
