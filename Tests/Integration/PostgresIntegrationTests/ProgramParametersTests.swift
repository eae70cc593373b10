import Postgres
import Testing

/// What `pg_dump` and `psql` get as an argument, which other users of the machine can see.
@Suite struct ProgramParametersTests {
    @Test(arguments: [
        ("postgres://ada:se%20cret@db:5433/app?sslmode=require", "se cret"),
        ("postgres://ada@db:5433/app?sslmode=require&password=se%20cret", "se cret"),
        ("host=db port=5433 user=ada dbname=app sslmode=require password='se cret'", "se cret"),
        ("postgres://ada@db:5433/app?sslmode=require", nil),
    ])
    func `the password is apart, in whichever form it is given`(_ url: String, _ expected: String?) throws {
        let (parameters, secrets) = try PostgresConfiguration.programParameters(ofURL: url)
        #expect(secrets == (expected.map { ["password": $0] } ?? [:]))
        #expect(
            parameters.split(separator: " ").sorted()
                == ["dbname='app'", "host='db'", "port='5433'", "sslmode='require'", "user='ada'"])
    }

    @Test func `the password for several hosts is apart`() throws {
        let (parameters, secrets) = try PostgresConfiguration.programParameters(
            ofURL: "postgres://ada:secret@one:5432,two:5433/app")
        #expect(secrets == ["password": "secret"])
        #expect(
            parameters.split(separator: " ").sorted()
                == ["dbname='app'", "host='one,two'", "port='5432,5433'", "user='ada'"])
    }

    @Test(arguments: [
        "postgres://ada:secret@db/app?sslmode=require&sslpassword=of%20the%20key",
        "host=db user=ada dbname=app sslmode=require password=secret sslpassword='of the key'",
    ])
    func `every secret is apart`(_ url: String) throws {
        let (parameters, secrets) = try PostgresConfiguration.programParameters(ofURL: url)
        #expect(secrets == ["password": "secret", "sslpassword": "of the key"])
        #expect(
            parameters.split(separator: " ").sorted()
                == ["dbname='app'", "host='db'", "sslmode='require'", "user='ada'"])
    }

    @Test func `values are quoted, and read as they were`() throws {
        let (parameters, _) = try PostgresConfiguration.programParameters(ofURL: #"postgres://db/it's%20\\an%20app"#)
        #expect(parameters.contains(#"dbname='it\'s \\\\an app'"#), "\(parameters)")
        let (again, _) = try PostgresConfiguration.programParameters(ofURL: parameters)
        #expect(again == parameters)
    }
}
