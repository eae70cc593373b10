import SyncGateway

@main
enum Main {
    static func main() async { await SyncGatewayServer.main.run { try SyncGatewayServer.make(&$0) } }
}
