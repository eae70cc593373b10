private import Crdkafka

extension KafkaSecurity {
    /// Whether SCRAM is understood by Apache Kafka 4 and newer: librdkafka before 2.6.1 repeats its nonce, which older brokers let pass
    /// and these refuse as a wrong password.
    package static var signsInToNewBrokersBySCRAM: Bool { rd_kafka_version() >= 0x0206_01ff }
}
