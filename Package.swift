// swift-tools-version: 6.2
import PackageDescription

// One target per line, by layer (Libraries/README.md says which layer may import which). A target depends on exactly
// what it imports: the build is run with --explicit-target-dependency-import-check error.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny")
]

/// Modules whose internals a test looks at (`@testable`). They are built so in release too, by whoever builds them, so that tests
/// run what ships. What `PartitaClient` depends on can't be among them: no app may depend on a target with flags of this kind.
let testable: Set<String> = [
    "AccessTokens", "AppDefinition", "Auth", "ChangeStream", "ChildProcesses", "EventStream", "Functions", "Kafka",
    "LocalEngines", "MediaOffload",
    "Permissions", "SyncGateway", "TriggerWorkers",
]

func settings(of module: String) -> [SwiftSetting] {
    testable.contains(module)
        ? settings + [.unsafeFlags(["-enable-testing"], .when(configuration: .release))] : settings
}

func clibrary(_ name: String, pkgConfig: String? = nil, apt: String) -> Target {
    .systemLibrary(name: name, path: "Libraries/C/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

/// - Parameter folders: those whose files (SQL, Lua, JavaScript) the module carries, as `PackageResources`.
func library(_ name: String, _ dependencies: [Target.Dependency] = [], embedding folders: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Libraries/\(name)",
        resources: folders.map { .embedInCode($0) }, swiftSettings: settings(of: name))
}

/// A service is a module (`Server/`) and an executable (`Run/`).
/// - Parameter folders: as in `library`.
func service(
    _ name: String, executable: String, _ dependencies: [Target.Dependency], embedding folders: [String] = []
) -> [Target] {
    [
        .target(
            name: name, dependencies: dependencies, path: "Services/\(name)/Server",
            resources: folders.map { .embedInCode($0) }, swiftSettings: settings(of: name)),
        .executableTarget(
            name: executable, dependencies: [.init(stringLiteral: name)], path: "Services/\(name)/Run",
            swiftSettings: settings),
    ]
}

func tests(_ tier: String, _ name: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil) -> Target
{
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(tier)/\(name)", resources: resources,
        // Optimizing the tests themselves would take longer than they run: what they test is optimized, as it ships.
        swiftSettings: settings + [.unsafeFlags(["-Onone"], .when(configuration: .release))])
}

let clibraries: [Target] = [
    clibrary("CJavaScriptCore", pkgConfig: "javascriptcoregtk-4.1", apt: "libjavascriptcoregtk-4.1-dev"),
    clibrary("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    clibrary("Carchive", pkgConfig: "libarchive", apt: "libarchive-dev"),
    clibrary("Ccjose", apt: "libcjose-dev"),
    clibrary("Ccrypt", apt: "libcrypt-dev"),
    clibrary("Cmalloc", apt: "libc6-dev"),
    clibrary("Ccrypto", pkgConfig: "libcrypto", apt: "libssl-dev"),
    clibrary("Ccurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
    clibrary("Chiredis", apt: "libhiredis-dev"),  // its .pc has a flag that SwiftPM warns about in every build
    clibrary("Clibpq", pkgConfig: "libpq", apt: "libpq-dev"),
    clibrary("Cmicrohttpd", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    clibrary("Cpcre2", pkgConfig: "libpcre2-8", apt: "libpcre2-dev"),
    clibrary("Crdkafka", pkgConfig: "rdkafka", apt: "librdkafka-dev"),
    clibrary("Cssl", pkgConfig: "libssl", apt: "libssl-dev"),
    clibrary("Csodium", pkgConfig: "libsodium", apt: "libsodium-dev"),
    clibrary("Cuv", pkgConfig: "libuv", apt: "libuv1-dev"),
    clibrary("Cwslay", apt: "libwslay-dev"),
    clibrary("Czlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
]

let libraries: [Target] = [
    // Layer 1: the machine.
    library("Texts"),
    library("EventLoop", ["Cuv", "Texts"]),
    library("Logging", ["EventLoop"]),
    library("Metrics", ["EventLoop"]),
    // what a signal handler may do
    .target(name: "Ccrash", path: "Libraries/C/Ccrash"),
    library("Lifecycle", ["Ccrash", "EventLoop", "Logging", "Metrics"]),
    library("TLS", ["Cssl", "EventLoop", "Texts"]),
    library("WebSocket", ["Cwslay", "Ccrypto", "Czlib", "EventLoop", "TLS"]),
    library("HTTPServer", ["Cmicrohttpd", "EventLoop", "Lifecycle", "Logging", "Metrics", "Texts", "WebSocket"]),
    library("HTTPClient", ["Ccurl", "EventLoop"]),
    library("Postgres", ["Clibpq", "EventLoop", "Lifecycle", "Logging", "Metrics", "Texts"]),
    library("Redis", ["Ccrypto", "Chiredis", "EventLoop", "Lifecycle", "Logging", "Metrics", "TLS", "Texts"]),
    // a `cnd_timedwait` of its own
    .target(name: "CKafkaWait", path: "Libraries/C/CKafkaWait"),
    library("Kafka", ["CKafkaWait", "Crdkafka", "Cuv", "EventLoop", "Lifecycle", "Logging"]),
    // a `bind` of its own: only the tool and tests link it
    .target(name: "CEmbeddedBroker", path: "Libraries/C/CEmbeddedBroker"),
    library("EmbeddedKafka", ["CEmbeddedBroker", "Crdkafka", "EventLoop", "Kafka"]),
    // what posix_spawn can't say
    .target(name: "Cspawn", path: "Libraries/C/Cspawn"),
    library("ChildProcesses", ["Cspawn", "EventLoop"]),
    // what a process gives up before it runs what nobody vouches for
    .target(name: "Cconfine", path: "Libraries/C/Cconfine"),
    library("SQLite", [.target(name: "CSQLite", condition: .when(platforms: [.linux])), "Texts"]),
    library("Archives", ["Carchive", "Czlib", "Texts"]),
    library("AWSSigning", ["Ccrypto", "Texts"]),
    library("JavaScript", ["CJavaScriptCore"]),
    library("Secrets", ["Csodium", "Texts"]),
    // Layer 2: the domain, pure.
    library("DocumentModel", ["Texts"]),
    library("RegularExpressions", [.target(name: "Cpcre2", condition: .when(platforms: [.linux])), "DocumentModel"]),
    library("DocumentSchema", ["DocumentModel", "RegularExpressions"]),
    library("QueryLanguage", ["DocumentModel", "DocumentSchema", "RegularExpressions", "Texts"]),
    library("SyncEngine", ["DocumentModel", "QueryLanguage", "Texts"]),
    library("SyncProtocol", ["DocumentModel", "SyncEngine"]),
    library("EventTopics", ["DocumentModel"]),
    library("RealmSync", ["Czlib", "DocumentModel", "Texts"]),
    library("AppDefinition", ["DocumentModel", "DocumentSchema", "QueryLanguage", "RealmSync"]),
    library("AccessTokens", ["Ccjose", "Ccrypto", "DocumentModel"]),
    library("FunctionProtocol", ["DocumentModel"]),
    // Layer 3: the domain on the machine.
    library("StoreSQL", ["Postgres"], embedding: ["Functions", "Migrations"]),
    library(
        "EventStream",
        ["DocumentModel", "EventLoop", "EventTopics", "Kafka", "Lifecycle", "Logging", "Metrics", "Postgres"],
        embedding: ["Functions", "Migrations"]),
    library(
        "AppRegistry",
        [
            "AppDefinition", "Archives", "DocumentModel", "EventLoop", "EventStream", "EventTopics", "Kafka",
            "Lifecycle",
            "Logging", "Postgres", "Secrets",
        ], embedding: ["Migrations"]),
    library(
        "DocumentStore",
        [
            "DocumentModel", "DocumentSchema", "EventLoop", "Lifecycle", "Logging",
            "Metrics", "Postgres", "QueryLanguage", "RegularExpressions", "StoreSQL", "SyncEngine", "Texts",
        ]),
    library(
        "ChangeStream",
        [
            "DocumentModel", "DocumentStore", "EventLoop", "EventStream", "EventTopics", "Kafka", "Lifecycle",
            "Logging", "Metrics", "Postgres", "QueryLanguage", "SyncEngine",
        ]),
    library(
        "Functions",
        [
            "AWSSigning", "AppDefinition", "ChildProcesses", "DocumentModel", "DocumentStore", "EventLoop",
            "FunctionProtocol", "HTTPClient", "Lifecycle", "Logging", "Metrics", "Postgres", "QueryLanguage", "Texts",
        ]),
    library(
        "Grants",
        [
            "DocumentModel", "EventLoop", "EventStream", "EventTopics", "Lifecycle", "Logging", "Metrics", "Postgres",
            "SyncEngine",
        ], embedding: ["Migrations"]),
    library("Presence", ["Redis", "Texts"], embedding: ["Scripts"]),
    library("ServiceBootstrap", ["Cmalloc", "EventLoop", "HTTPServer", "Lifecycle", "Logging", "Metrics", "Texts"]),
    library(
        "ServiceEngines",
        [
            "AccessTokens", "AppDefinition", "AppRegistry", "ChangeStream", "DocumentModel", "DocumentStore",
            "EventLoop",
            "EventStream", "EventTopics", "FunctionProtocol", "Functions", "HTTPClient", "HTTPServer", "Kafka",
            "Lifecycle",
            "Logging",
            "Postgres", "Redis", "Secrets", "ServiceBootstrap", "SyncEngine",
        ], embedding: ["Counts/Scripts", "Migrations"]),
    library(
        "AppDeployment",
        [
            "AppDefinition", "AppRegistry", "Archives", "DocumentModel", "DocumentSchema", "DocumentStore", "EventLoop",
            "EventStream", "EventTopics", "FunctionProtocol", "Functions", "Lifecycle", "Logging", "Postgres",
            "RealmSync", "ServiceEngines", "SyncEngine",
        ]),
    library(
        "Dumps", ["Czlib", "DocumentModel", "DocumentStore", "EventLoop", "Postgres"], embedding: ["Migrations"]),
    library("LocalEngines", ["ChildProcesses", "EventLoop"]),
    library(
        "PartitaClient",
        [
            "DocumentModel", "QueryLanguage", "SQLite", "SyncEngine", "SyncProtocol", "Texts",
            .target(name: "EventLoop", condition: .when(platforms: [.linux])),
            .target(name: "HTTPClient", condition: .when(platforms: [.linux])),
            .target(name: "WebSocket", condition: .when(platforms: [.linux])),
        ]),
]

let services: [Target] =
    service(
        "Auth", executable: "auth",
        [
            "AccessTokens", "AppDefinition", "AppDeployment", "AppRegistry", "Ccrypt", "Ccrypto", "Csodium",
            "DocumentModel",
            "DocumentStore", "EventLoop",
            "EventStream", "EventTopics", "FunctionProtocol", "Functions",
            "HTTPClient", "HTTPServer", "Lifecycle", "Logging", "Metrics", "Postgres", "RealmSync", "Redis", "Secrets",
            "ServiceBootstrap", "ServiceEngines", "SyncEngine", "Texts",
        ], embedding: ["Migrations", "Throttle/Scripts"])
    + service(
        "Permissions", executable: "permissions",
        [
            "AppDefinition", "AppRegistry", "ChangeStream", "DocumentModel", "DocumentStore", "EventLoop",
            "EventStream", "EventTopics",
            "FunctionProtocol", "Functions", "Grants", "Lifecycle", "Logging", "Metrics",
            "Postgres", "QueryLanguage", "ServiceBootstrap", "ServiceEngines",
        ], embedding: ["Functions", "Migrations"])
    + service(
        "SyncGateway", executable: "sync-gateway",
        [
            "AccessTokens", "AppDefinition", "AppRegistry", "ChangeStream", "DocumentModel", "DocumentStore",
            "EventLoop",
            "EventStream", "EventTopics", "FunctionProtocol", "Functions", "Grants",
            "HTTPServer", "Lifecycle", "Logging", "Metrics", "Postgres", "Presence", "RealmSync", "ServiceBootstrap",
            "ServiceEngines",
            "SyncEngine", "SyncProtocol", "WebSocket",
        ], embedding: ["Migrations"])
    + service(
        "TriggerWorkers", executable: "trigger-workers",
        [
            "AccessTokens", "AppDefinition", "AppDeployment", "AppRegistry", "ChangeStream", "DocumentModel",
            "DocumentStore", "EventLoop", "EventStream", "EventTopics",
            "FunctionProtocol", "Functions", "HTTPClient", "HTTPServer", "Kafka", "Lifecycle", "Logging", "Metrics",
            "Postgres", "Presence", "QueryLanguage", "Secrets", "ServiceBootstrap", "ServiceEngines",
        ], embedding: ["Migrations"])
    + service(
        "MediaOffload", executable: "media-offload",
        [
            "AWSSigning", "AppDefinition", "AppRegistry", "ChangeStream", "ChildProcesses", "DocumentModel",
            "DocumentStore", "EventLoop", "EventStream", "EventTopics", "Grants",
            "HTTPClient", "HTTPServer", "Lifecycle", "Logging", "Metrics", "Postgres", "ServiceBootstrap",
            "ServiceEngines",
        ], embedding: ["Migrations"])
    + service(
        "FunctionHost", executable: "function-host",
        ["Cconfine", "Ccrypto", "Czlib", "DocumentModel", "EventLoop", "FunctionProtocol", "JavaScript"],
        embedding: ["Node", "Prelude"])
    + [
        .executableTarget(
            name: "partita",
            dependencies: [
                "AppDefinition", "AppDeployment", "AppRegistry", "Archives", "Auth", "Ccrypto", "ChildProcesses",
                "Czlib", "DocumentModel", "DocumentStore", "Dumps", "EmbeddedKafka", "EventLoop", "EventStream",
                "EventTopics", "FunctionProtocol", "Functions", "HTTPClient", "Kafka",
                "Lifecycle", "LocalEngines", "Logging", "PartitaClient", "Postgres",
                "QueryLanguage", "Secrets", "ServiceBootstrap", "ServiceEngines", "StoreSQL", "SyncEngine",
                "SyncProtocol", "Texts",
            ],
            path: "Services/CommandLine", exclude: ["README.md"], swiftSettings: settings)
    ]

let testTargets: [Target] = [
    .target(
        name: "TestSupport",
        dependencies: ["ChildProcesses", "EventLoop", "Kafka", "LocalEngines"], path: "Tests/Support",
        exclude: ["issuer.py", "mail-server.py", "object-store.sh", "vendors.py"],
        swiftSettings: settings),

    .target(
        name: "BenchmarkRunner", dependencies: ["ChildProcesses", "LocalEngines"], path: "Tests/Benchmarks/Runner",
        swiftSettings: settings),
    tests("Unit", "BenchmarkRunnerTests", ["BenchmarkRunner", "EventLoop"]),

    tests("Unit", "EventLoopTests", ["EventLoop", "TestSupport", "Texts"]),
    tests("Unit", "LoggingTests", ["EventLoop", "Logging"]),
    tests("Unit", "MetricsTests", ["Metrics"]),
    tests("Unit", "LifecycleTests", ["EventLoop", "Lifecycle", "Logging", "Metrics", "TestSupport"]),
    tests("Unit", "HTTPClientTests", ["EventLoop", "HTTPClient"]),
    tests(
        "Unit", "ServiceBootstrapTests",
        ["EventLoop", "HTTPClient", "HTTPServer", "Lifecycle", "Logging", "Metrics", "ServiceBootstrap"]),
    tests("Unit", "ChildProcessesTests", ["ChildProcesses"]),
    tests("Integration", "LocalEnginesIntegrationTests", ["ChildProcesses", "LocalEngines", "TestSupport"]),
    tests("Unit", "JavaScriptTests", ["JavaScript"]),
    tests("Unit", "SecretsTests", ["Secrets"]),
    tests("Unit", "SQLiteTests", ["SQLite"]),
    tests("Unit", "DocumentModelTests", ["DocumentModel"]),
    .target(
        name: "Vectors", dependencies: ["Czlib", "DocumentModel"], path: "Tests/Vectors",
        exclude: ["Cases", "README.md", "Realm", "Reference", "Upgrades", "operators.json", "schemas.json"],
        swiftSettings: settings),
    tests("Unit", "DocumentSchemaTests", ["DocumentModel", "DocumentSchema", "Vectors"]),
    .target(
        name: "FuzzTargets", dependencies: ["DocumentModel", "QueryLanguage", "RealmSync", "SyncProtocol"],
        path: "Tests/Fuzz/Targets", swiftSettings: settings),
    tests(
        "Unit", "QueryLanguageTests",
        [
            "DocumentModel", "EventLoop", "FuzzTargets", "QueryLanguage", "RegularExpressions", "SyncEngine", "Vectors",
        ]),
    .target(
        name: "MemoryStore", dependencies: ["DocumentModel", "SyncEngine"], path: "Tests/MemoryStore",
        swiftSettings: settings),
    .target(
        name: "Simulation", dependencies: ["DocumentModel", "MemoryStore", "SyncEngine"], path: "Tests/Simulation",
        swiftSettings: settings),
    tests("Unit", "SyncEngineTests", ["DocumentModel", "Simulation", "SyncEngine"]),
    tests("Unit", "AWSSigningTests", ["AWSSigning"]),
    tests("Unit", "ArchivesTests", ["Archives"]),
    .target(
        name: "RealmMessages", dependencies: ["DocumentModel"], path: "Tests/RealmMessages", swiftSettings: settings),
    .target(
        name: "RealmClientModel", dependencies: ["DocumentModel", "RealmMessages", "RealmSync"],
        path: "Tests/RealmClientModel", swiftSettings: settings),
    .target(
        name: "RealmTestClient",
        dependencies: ["DocumentModel", "EventLoop", "RealmClientModel", "RealmMessages", "RealmSync", "WebSocket"],
        path: "Tests/RealmTestClient", swiftSettings: settings),
    .target(
        name: "RealmSimulation",
        dependencies: ["DocumentModel", "RealmClientModel", "RealmMessages", "RealmSync", "Simulation", "SyncEngine"],
        path: "Tests/RealmSimulation", swiftSettings: settings),
    tests("Unit", "RealmSyncTests", ["DocumentModel", "RealmSimulation", "RealmSync", "SyncEngine", "Vectors"]),
    tests(
        "Unit", "AppDefinitionTests", ["AppDefinition", "DocumentModel", "QueryLanguage", "RealmSync", "SyncEngine"]),
    tests("Unit", "AccessTokensTests", ["AccessTokens", "DocumentModel"]),
    tests(
        "Unit", "PartitaClientTests",
        [
            "DocumentModel", "EventLoop", "HTTPServer", "Logging", "MemoryStore", "PartitaClient", "SQLite",
            "SyncEngine", "SyncProtocol", "TestSupport", "WebSocket",
        ]),

    tests(
        "Unit", "MediaOffloadTests",
        [
            "AWSSigning", "AppDefinition", "ChildProcesses", "DocumentModel", "EventLoop", "EventTopics",
            "MediaOffload", "ServiceEngines",
        ]),

    tests("Unit", "ChangeStreamTests", ["ChangeStream", "DocumentModel", "EventStream", "EventTopics", "Kafka"]),
    tests(
        "Unit", "EventStreamTests",
        ["DocumentModel", "EventLoop", "EventStream", "EventTopics", "Lifecycle", "Logging", "SyncEngine"]),
    tests(
        "Contract", "WireContractTests", ["DocumentModel", "SyncEngine", "SyncProtocol"], resources: [.copy("Golden")]),
    tests("Contract", "TopicContractTests", ["DocumentModel", "EventTopics"], resources: [.copy("Golden")]),
    tests("Contract", "LayerContractTests", []),

    tests(
        "Integration", "HTTPIntegrationTests",
        [
            "ChildProcesses", "EventLoop", "HTTPServer", "Lifecycle", "LocalEngines", "Logging", "Metrics", "WebSocket",
        ]),
    tests(
        "Integration", "PostgresIntegrationTests",
        ["ChildProcesses", "EventLoop", "LocalEngines", "Postgres", "TestSupport"]),
    tests(
        "Integration", "RedisIntegrationTests",
        ["ChildProcesses", "EventLoop", "LocalEngines", "Redis", "TestSupport"]),
    tests(
        "Integration", "KafkaIntegrationTests",
        [
            "ChangeStream", "ChildProcesses", "DocumentModel", "EmbeddedKafka", "EventLoop", "EventStream",
            "EventTopics", "Kafka",
            "Lifecycle",
            "LocalEngines", "Logging", "Postgres", "TestSupport",
        ]),
    tests(
        "Integration", "DocumentStoreIntegrationTests",
        [
            "ChangeStream", "ChildProcesses", "DocumentModel", "DocumentSchema", "DocumentStore", "EventLoop",
            "EventStream",
            "EventTopics", "Kafka", "Lifecycle", "Logging", "Postgres", "QueryLanguage", "RegularExpressions",
            "Simulation",
            "SyncEngine", "TestSupport", "Vectors",
        ]),
    .testTarget(
        name: "IndependentEngineIntegrationTests",
        dependencies: ["ChildProcesses", "DocumentModel", "QueryLanguage", "SyncEngine", "Vectors"],
        path: "Tests/Integration/IndependentEngineIntegrationTests", exclude: ["known-differences.json", "peer.py"],
        swiftSettings: settings),
    tests(
        "Integration", "DumpsIntegrationTests",
        [
            "AppDefinition", "AppRegistry", "ChildProcesses", "DocumentModel", "DocumentStore", "Dumps", "EventLoop",
            "Postgres", "SyncEngine", "TestSupport",
        ], resources: [.copy("Fixtures")]),
    tests(
        "Integration", "FunctionsIntegrationTests",
        [
            "AppDefinition", "ChildProcesses", "DocumentModel", "DocumentStore", "EventLoop", "FunctionProtocol",
            "Functions", "HTTPClient", "HTTPServer", "Logging", "Metrics", "Postgres", "SyncEngine", "TestSupport",
        ]),
    tests(
        "Integration", "FunctionHostIntegrationTests",
        ["AppDefinition", "ChildProcesses", "DocumentModel", "FunctionProtocol", "Functions"]),
    tests(
        "Integration", "AuthIntegrationTests",
        [
            "AccessTokens", "AppDefinition", "AppRegistry", "Archives", "Auth", "Ccjose", "DocumentModel",
            "DocumentStore", "EventLoop", "EventStream", "EventTopics", "FunctionProtocol", "HTTPServer", "Kafka",
            "Logging", "Metrics",
            "Postgres", "Secrets", "ServiceBootstrap", "ServiceEngines", "TestSupport",
        ]),
    tests(
        "Integration", "AppsIntegrationTests",
        [
            "AppDefinition", "AppDeployment", "AppRegistry", "Archives", "DocumentModel", "DocumentStore", "EventLoop",
            "EventStream",
            "FunctionProtocol", "Functions", "Logging", "Postgres", "ServiceEngines", "SyncEngine", "TestSupport",
        ]),
    tests(
        "Integration", "PermissionsIntegrationTests",
        [
            "AppDefinition", "AppDeployment", "AppRegistry", "ChangeStream", "DocumentModel", "DocumentStore",
            "EventLoop",
            "EventStream", "EventTopics",
            "Functions", "Grants", "Kafka", "Lifecycle", "Logging", "Metrics", "Permissions", "Postgres",
            "QueryLanguage",
            "ServiceBootstrap",
            "ServiceEngines", "Simulation", "SyncEngine", "TestSupport",
        ]),
    tests(
        "Integration", "SyncGatewayIntegrationTests",
        [
            "AccessTokens", "AppDefinition", "AppRegistry", "ChangeStream", "ChildProcesses", "DocumentModel",
            "DocumentStore", "EmbeddedKafka", "EventLoop", "EventStream", "EventTopics", "FunctionProtocol",
            "Functions", "Grants", "Kafka", "Lifecycle", "LocalEngines", "Logging", "Metrics", "Postgres", "Presence",
            "RealmClientModel", "RealmMessages", "RealmSync", "RealmTestClient", "Redis", "ServiceBootstrap",
            "ServiceEngines", "SyncEngine", "SyncGateway", "SyncProtocol", "TestSupport", "Vectors", "WebSocket",
        ]),
    tests(
        "Integration", "TriggerWorkersIntegrationTests",
        [
            "AccessTokens", "AppDefinition", "AppDeployment", "AppRegistry", "ChangeStream", "ChildProcesses",
            "DocumentModel",
            "DocumentStore",
            "EventLoop", "EventStream", "EventTopics", "FunctionProtocol", "Kafka", "Lifecycle", "LocalEngines",
            "Logging", "Metrics",
            "Postgres",
            "Presence", "Redis", "Secrets", "ServiceBootstrap", "ServiceEngines", "SyncEngine", "TestSupport",
            "TriggerWorkers",
        ]),
    tests(
        "Integration", "MediaOffloadIntegrationTests",
        [
            "AWSSigning", "AccessTokens", "AppDefinition", "AppRegistry", "Archives", "ChangeStream", "ChildProcesses",
            "DocumentModel",
            "DocumentStore",
            "EventLoop", "EventStream", "EventTopics", "HTTPClient", "HTTPServer", "Kafka", "Lifecycle", "Logging",
            "MediaOffload", "Metrics", "Postgres", "ServiceBootstrap", "ServiceEngines", "SyncEngine", "TestSupport",
        ]),

    tests(
        "EndToEnd", "EndToEndTests",
        [
            "AccessTokens", "ChildProcesses", "DocumentModel", "EventLoop", "EventStream", "EventTopics", "HTTPClient",
            "Kafka", "LocalEngines", "PartitaClient", "Postgres", "RealmSync", "RealmTestClient", "Secrets",
            "SyncEngine", "SyncProtocol", "TestSupport", "Vectors", "WebSocket",
        ]),
]

// What ./Deploy/bench builds and nobody else: it needs packages that neither the services nor the tests need.
let benchmarkTargets: [Target] =
    Context.environment["PARTITA_BENCHMARKS"] == nil
    ? []
    : [
        .systemLibrary(
            name: "Cbson", path: "Tests/Benchmarks/Cbson", pkgConfig: "libbson-1.0", providers: [.apt(["libbson-dev"])]),
        .target(
            name: "CBenchmarkReferences", dependencies: ["Cbson", "Ccurl", "Clibpq", "Crdkafka", "Cuv", "Czlib"],
            path: "Tests/Benchmarks/References"),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "BenchmarkRunner", "CBenchmarkReferences", "ChildProcesses", "Csodium", "DocumentModel",
                "DocumentStore",
                "Dumps", "EventLoop", "HTTPClient", "HTTPServer", "JavaScript", "Kafka", "Lifecycle", "LocalEngines",
                "Logging",
                "Metrics", "Postgres", "RealmMessages", "RealmSync", "Redis", "SyncEngine", "SyncProtocol", "WebSocket",
            ], path: "Tests/Benchmarks/Figures", swiftSettings: settings),
    ]

let package = Package(
    name: "partita",
    platforms: [.macOS(.v15), .iOS(.v18)],
    // Tests/Fuzz is a package of its own, which needs what it fuzzes as a product.
    products: [
        .library(name: "PartitaClient", targets: ["PartitaClient"]),
        .library(name: "FuzzTargets", targets: ["FuzzTargets"]),
    ],
    targets: clibraries + libraries + services + testTargets + benchmarkTargets
)
