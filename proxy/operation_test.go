package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/proxy"
)

// The name of an operation leads back to the route that made it, whatever is in the path.
func TestRoutesOf(t *testing.T) {
	t.Parallel()
	routes := []proxy.Route{
		{Path: "/payments", Operation: "pay"}, {Path: "/old/payments", Operation: "pay"}, {Path: "/reports/"}, {Path: "a.example/orders"},
		{Path: "/orders"}, {Path: "/raw/", Unguarded: true}, {Path: "/named", Operation: "POST /reports/x"}, {Path: "/"},
	}
	for operation, want := range map[string][]int{
		"pay": {0, 1}, "refund": nil, "POST /payments": nil, "POST /reports/7": {2}, "PATCH /reports/a%2Fb": {2}, "POST a.example/orders": {3},
		"POST /orders": {4}, "POST b.example/orders": nil, "POST /raw/x": nil, "POST /reports/x": {6, 2}, "POST /elsewhere": {7}, "PUT /orders": nil,
		"POST //reports/x": {2}, "POST " + "/reports/" + strings.Repeat("x", 300) + "~00": {2}, "": nil, "POST": nil, "POST /%zz": nil,
	} {
		got, err := proxy.RoutesOf(routes, operation)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%.40q: routes %v, error %v, want %v", operation, got, err, want)
		}
	}
	if _, err := proxy.RoutesOf([]proxy.Route{{Path: "/a"}, {Path: "/a"}}, "pay"); err == nil {
		t.Error("two routes of one pattern were taken")
	}
}

// What a route calls an operation is what RoutesOf knows it by.
func TestRoutesOfWhatRoutesRecord(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/reports/7", "/reports/a%2Fb", "/reports/ä?x=1", "/reports/" + strings.Repeat("x", 400), "//reports/x", "/reports"} {
		r := httptest.NewRequest(http.MethodPost, "http://shop.example"+path, nil)
		routes := []proxy.Route{{Path: "/reports/"}}
		if got, err := proxy.RoutesOf(routes, httpguard.MethodAndPath(r)); err != nil || len(got) != 1 {
			t.Errorf("%.40s is called %.60q: routes %v, error %v", path, httpguard.MethodAndPath(r), got, err)
		}
	}
}
