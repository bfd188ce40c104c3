// Drives a router through govpp: interfaces, addresses, routes, neighbours, tables, dumps, events
// and statistics. It undoes nothing and expects a router without configuration of its own.
//
//	go run . -api /run/vpp/api.sock -stats /run/vpp/stats.sock
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"time"

	"go.fd.io/govpp"
	"go.fd.io/govpp/adapter/socketclient"
	"go.fd.io/govpp/adapter/statsclient"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/pg"
	"go.fd.io/govpp/binapi/tapv2"
	"go.fd.io/govpp/binapi/vlib"
	"go.fd.io/govpp/binapi/vpe"
	"go.fd.io/govpp/core"
)

const (
	vrf   = 7
	pings = 100
)

var (
	apiSocket   = flag.String("api", socketclient.DefaultSocketName, "socket of the binary API")
	statsSocket = flag.String("stats", statsclient.DefaultSocketName, "socket of the statistics")
	withTap     = flag.Bool("tap", false, "create a tap too (the router needs root)")
	namespace   = flag.String("tap-ns", "", "network namespace of the tap's other end")
)

func main() {
	flag.Parse()
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatalln("example:", err)
	}
	fmt.Println("ok")
}

func run(ctx context.Context) error {
	conn, err := govpp.Connect(*apiSocket)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Disconnect()
	if err := version(ctx, conn); err != nil {
		return fmt.Errorf("version: %w", err)
	}
	port, err := createInterfaces(ctx, conn)
	if err != nil {
		return err
	}
	if err := watch(ctx, conn, port); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	if err := route(ctx, conn, port); err != nil {
		return err
	}
	if err := dump(ctx, conn); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	if err := ping(ctx, conn); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return statistics()
}

func version(ctx context.Context, conn api.Connection) error {
	reply, err := vpe.NewServiceClient(conn).ShowVersion(ctx, &vpe.ShowVersion{})
	if err != nil {
		return err
	}
	fmt.Println("version", reply.Program, reply.Version)
	cli, err := vlib.NewServiceClient(conn).CliInband(ctx, &vlib.CliInband{Cmd: "show version"})
	if err != nil {
		return err
	}
	fmt.Print("cli ", cli.Reply)
	return nil
}

// createInterfaces makes one of each kind and returns the packet generator's, with an address.
func createInterfaces(ctx context.Context, conn api.Connection) (interface_types.InterfaceIndex, error) {
	port, err := pg.NewServiceClient(conn).PgCreateInterfaceV3(ctx, &pg.PgCreateInterfaceV3{})
	if err != nil {
		return 0, fmt.Errorf("packet generator: %w", err)
	}
	client := interfaces.NewServiceClient(conn)
	loop, err := client.CreateLoopback(ctx, &interfaces.CreateLoopback{})
	if err != nil {
		return 0, fmt.Errorf("loopback: %w", err)
	}
	addresses := map[interface_types.InterfaceIndex][]string{
		port.SwIfIndex: {"10.0.0.1/24", "2001:db8::1/64"},
		loop.SwIfIndex: {"192.0.2.1/32"},
	}
	if *withTap {
		tap, err := tapv2.NewServiceClient(conn).TapCreateV3(ctx, &tapv2.TapCreateV3{
			ID: ^uint32(0), UseRandomMac: true, NumRxQueues: 1, NumTxQueues: 1,
			HostNamespaceSet: *namespace != "", HostNamespace: *namespace,
			HostIfNameSet: true, HostIfName: "example0",
		})
		if err != nil {
			return 0, fmt.Errorf("tap: %w", err)
		}
		addresses[tap.SwIfIndex] = []string{"10.0.2.1/24"}
	}
	for index, texts := range addresses {
		for _, text := range texts {
			prefix, err := ip_types.ParseAddressWithPrefix(text)
			if err != nil {
				return 0, err
			}
			_, err = client.SwInterfaceAddDelAddress(ctx, &interfaces.SwInterfaceAddDelAddress{
				SwIfIndex: index, IsAdd: true, Prefix: prefix,
			})
			if err != nil {
				return 0, fmt.Errorf("address %s: %w", text, err)
			}
		}
	}
	return port.SwIfIndex, nil
}

// watch sets an interface up and waits for the event that says so.
func watch(ctx context.Context, conn api.Connection, index interface_types.InterfaceIndex) error {
	watcher, err := conn.WatchEvent(ctx, (*interfaces.SwInterfaceEvent)(nil))
	if err != nil {
		return err
	}
	defer watcher.Close()
	client := interfaces.NewServiceClient(conn)
	_, err = client.WantInterfaceEvents(ctx, &interfaces.WantInterfaceEvents{EnableDisable: 1, PID: 42})
	if err != nil {
		return err
	}
	up := interface_types.IF_STATUS_API_FLAG_ADMIN_UP
	_, err = client.SwInterfaceSetFlags(ctx, &interfaces.SwInterfaceSetFlags{SwIfIndex: index, Flags: up})
	if err != nil {
		return err
	}
	for {
		select {
		case message := <-watcher.Events():
			event := message.(*interfaces.SwInterfaceEvent)
			if event.SwIfIndex == index && event.PID == 42 && event.Flags&up != 0 {
				fmt.Println("event: interface", index, "is up")
				return nil
			}
		case <-ctx.Done():
			return errors.New("the interface came up without an event")
		}
	}
}

// route adds a neighbour, a route through it, and a table with a route of its own.
func route(ctx context.Context, conn api.Connection, port interface_types.InterfaceIndex) error {
	_, err := ip_neighbor.NewServiceClient(conn).IPNeighborAddDel(ctx, &ip_neighbor.IPNeighborAddDel{
		IsAdd: true,
		Neighbor: ip_neighbor.IPNeighbor{
			SwIfIndex: port, Flags: ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC,
			MacAddress: [6]byte{2, 0, 0, 0, 0, 2}, IPAddress: ip_types.NewAddress([]byte{10, 0, 0, 2}),
		},
	})
	if err != nil {
		return fmt.Errorf("neighbour: %w", err)
	}
	client := ip.NewServiceClient(conn)
	_, err = client.IPTableAddDel(ctx, &ip.IPTableAddDel{
		IsAdd: true, Table: ip.IPTable{TableID: vrf, Name: "seven"},
	})
	if err != nil {
		return fmt.Errorf("table: %w", err)
	}
	for _, table := range []uint32{0, vrf} {
		path := fib_types.FibPath{SwIfIndex: uint32(port), Weight: 1}
		path.Nh.Address = ip_types.AddressUnionIP4([4]byte{10, 0, 0, 2})
		prefix, err := ip_types.ParsePrefix("16.0.0.0/8")
		if err != nil {
			return err
		}
		_, err = client.IPRouteAddDelV2(ctx, &ip.IPRouteAddDelV2{
			IsAdd: true,
			Route: ip.IPRouteV2{
				TableID: table, Prefix: prefix, NPaths: 1, Paths: []fib_types.FibPath{path},
			},
		})
		if err != nil {
			return fmt.Errorf("route in table %d: %w", table, err)
		}
	}
	return nil
}

func dump(ctx context.Context, conn api.Connection) error {
	all := ^interface_types.InterfaceIndex(0)
	names, err := interfaces.NewServiceClient(conn).SwInterfaceDump(ctx, &interfaces.SwInterfaceDump{SwIfIndex: all})
	if err != nil {
		return err
	}
	err = each(names.Recv, func(row *interfaces.SwInterfaceDetails) {
		fmt.Println("interface", row.SwIfIndex, row.InterfaceName, row.L2Address)
	})
	if err != nil {
		return err
	}
	tables, err := ip.NewServiceClient(conn).IPTableDump(ctx, &ip.IPTableDump{})
	if err != nil {
		return err
	}
	err = each(tables.Recv, func(row *ip.IPTableDetails) {
		fmt.Println("table", row.Table.TableID, row.Table.IsIP6, row.Table.Name)
	})
	if err != nil {
		return err
	}
	routes, err := ip.NewServiceClient(conn).IPRouteV2Dump(ctx, &ip.IPRouteV2Dump{Table: ip.IPTable{TableID: vrf}})
	if err != nil {
		return err
	}
	err = each(routes.Recv, func(row *ip.IPRouteV2Details) {
		fmt.Println("route", row.Route.TableID, row.Route.Prefix, len(row.Route.Paths))
	})
	if err != nil {
		return err
	}
	neighbors, err := ip_neighbor.NewServiceClient(conn).IPNeighborDump(ctx, &ip_neighbor.IPNeighborDump{SwIfIndex: all})
	if err != nil {
		return err
	}
	return each(neighbors.Recv, func(row *ip_neighbor.IPNeighborDetails) {
		fmt.Println("neighbor", row.Neighbor.IPAddress, row.Neighbor.MacAddress)
	})
}

// each calls do for all rows of a dump.
func each[Row any](receive func() (Row, error), do func(Row)) error {
	for {
		row, err := receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do(row)
	}
}

func ping(ctx context.Context, conn api.Connection) error {
	client := memclnt.NewServiceClient(conn)
	for range pings {
		if _, err := client.ControlPing(ctx, &memclnt.ControlPing{}); err != nil {
			return err
		}
	}
	fmt.Println("pings", pings)
	return nil
}

func statistics() error {
	conn, err := core.ConnectStats(statsclient.NewStatsClient(*statsSocket))
	if err != nil {
		return fmt.Errorf("connect to the statistics: %w", err)
	}
	defer conn.Disconnect()
	system := new(api.SystemStats)
	if err := conn.GetSystemStats(system); err != nil {
		return fmt.Errorf("system statistics: %w", err)
	}
	counters := new(api.InterfaceStats)
	if err := conn.GetInterfaceStats(counters); err != nil {
		return fmt.Errorf("interface statistics: %w", err)
	}
	for _, row := range counters.Interfaces {
		fmt.Println("statistics", row.InterfaceIndex, row.InterfaceName, row.Tx.Packets, row.Drops)
	}
	nodeErrors := new(api.ErrorStats)
	if err := conn.GetErrorStats(nodeErrors); err != nil {
		return fmt.Errorf("error statistics: %w", err)
	}
	fmt.Println("errors", len(nodeErrors.Errors))
	return nil
}
