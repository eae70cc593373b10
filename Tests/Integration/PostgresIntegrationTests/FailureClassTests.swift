import Postgres
import Testing

struct FailureClassTests {
    @Test(arguments: [
        ("40001", PostgresFailureClass.again), ("40P01", .again), ("55P03", .again), ("57P01", .again),
        ("08006", .again),
        ("53300", .again), ("PT409", .again), ("53100", .later), ("53200", .later), ("57014", .later),
        ("25006", .later),
        ("22001", .refused), ("22P05", .refused), ("23505", .refused), ("23502", .refused), ("54000", .refused),
        ("P0001", .refused), ("PT115", .refused), ("42P01", .broken), ("42P07", .broken), ("42703", .broken),
        ("42501", .broken), ("3F000", .broken), ("28P01", .broken), ("XX001", .broken), ("58030", .broken),
        ("ZZ999", .broken),
    ])
    func `each SQLSTATE has a class, and an unknown one doesn't refuse data`(
        _ state: String, _ expected: PostgresFailureClass
    ) {
        #expect(PostgresError(.server, "…", sqlstate: state).failureClass == expected)
    }

    @Test func `a violated constraint of an internal table isn't the caller's fault`() {
        var error = PostgresError(.server, "no partition of relation \"changes\" found for row", sqlstate: "23514")
        #expect(error.failureClass == .refused)
        error.schema = "partita"
        #expect(error.failureClass == .broken)
    }

    @Test func `the description names objects and causes, and no data`() {
        let missing = PostgresError(.server, #"relation "rchat/RChat.User" does not exist"#, sqlstate: "42P01")
        #expect(missing.description.contains("rchat/RChat.User"))
        let value = PostgresError(.server, #"invalid input syntax for type integer: "secret""#, sqlstate: "22P02")
        #expect(!value.description.contains("secret"))
        let refused = PostgresError(
            .connectionFailed,
            "connection to server at \"::1\", port 1 failed: Connection refused\n\tIs the server running?\n"
                + "connection to server at \"127.0.0.1\", port 1 failed: Connection refused\n\tIs the server running?")
        let late = PostgresError(.poolTimeout, "no connection became free in time", underlying: refused)
        #expect(
            late.description
                == "PostgresError(poolTimeout, no connection became free in time, connection to server at \"::1\", port 1 failed: "
                + "Connection refused; connection to server at \"127.0.0.1\", port 1 failed: Connection refused)")
    }
}
