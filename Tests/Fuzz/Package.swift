// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "partita", path: "../..")],
    targets: [
        .executableTarget(
            name: "fuzz",
            dependencies: [.product(name: "FuzzTargets", package: "partita")],
            path: "Sources/Fuzz",
            // libFuzzer provides `main` with the loop; SwiftPM renames ours.
            swiftSettings: [.unsafeFlags(["-parse-as-library"])])
    ]
)
