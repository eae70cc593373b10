import ChildProcesses
import Testing

/// Apache Kafka, as opposed to the embedded development broker. Decides which of them the tests run on, and which tests are
/// skipped without the real one.
public enum RealBroker {
    /// Where an unpacked Apache Kafka (`bin/`, `libs/`) is.
    public static var home: String? { CurrentEnvironment.variables["KAFKA_HOME"].flatMap { $0.isEmpty ? nil : $0 } }

    /// Whether the broker of this run is Apache Kafka: one that the environment names, or one that is started from `home`.
    public static var isThere: Bool {
        let variables = CurrentEnvironment.variables
        guard variables["PARTITA_KAFKA_BOOTSTRAP"] == nil else { return variables["PARTITA_KAFKA_EMBEDDED"] != "true" }
        return home != nil
    }

    /// Whether a test that needs it must not be skipped: `PARTITA_REQUIRE_KAFKA`, which `.ci/run` sets.
    static var isRequired: Bool { CurrentEnvironment.variables["PARTITA_REQUIRE_KAFKA"] == "1" }

    struct Missing: Error, CustomStringConvertible {
        let description =
            "this test needs a broker of its own: set KAFKA_HOME to an unpacked Apache Kafka (bin/, libs/)"
    }
}

extension Trait where Self == ConditionTrait {
    /// For tests of what the embedded broker does not do: it keeps nothing over a restart, and has no limits of topics. They
    /// are the only ones that may be skipped without Apache Kafka; `Deploy/test` lists them.
    public static var needsRealBroker: Self {
        .enabled("needs Apache Kafka (KAFKA_HOME)") {
            // A broker that the environment names must not be restarted.
            if RealBroker.isRequired, RealBroker.home == nil { throw RealBroker.Missing() }
            return RealBroker.home != nil
        }
    }
}
