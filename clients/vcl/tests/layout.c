/* Prints sizes, offsets and values of vppcom.h, to compare two headers. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef uint8_t u8;
typedef uint32_t u32;
#include <vppcom.h>

#define SIZE(t) printf (#t " %zu\n", sizeof (t))
#define AT(t, f) printf (#t "." #f " %zu\n", offsetof (t, f))
#define IS(v) printf (#v " %d\n", (int) (v))

int
main (void)
{
  SIZE (vppcom_endpt_t); AT (vppcom_endpt_t, is_ip4); AT (vppcom_endpt_t, ip);
  AT (vppcom_endpt_t, port); AT (vppcom_endpt_t, unused2); AT (vppcom_endpt_t, app_tlv_len);
  AT (vppcom_endpt_t, app_tlvs); SIZE (vppcom_endpt_tlv_t); AT (vppcom_endpt_tlv_t, data);
  SIZE (vcl_poll_t); AT (vcl_poll_t, sh); AT (vcl_poll_t, events); AT (vcl_poll_t, revents);
  SIZE (vppcom_data_segment_t); AT (vppcom_data_segment_t, len); SIZE (vppcom_data_segments_t);
  SIZE (vppcom_cert_key_pair_t); AT (vppcom_cert_key_pair_t, key);
  AT (vppcom_cert_key_pair_t, cert_len); AT (vppcom_cert_key_pair_t, key_len);
  SIZE (vcl_si_set); SIZE (vcl_session_handle_t);
  SIZE (vppcom_cfg_t); AT (vppcom_cfg_t, max_workers); AT (vppcom_cfg_t, segment_baseva);
  AT (vppcom_cfg_t, segment_size); AT (vppcom_cfg_t, add_segment_size);
  AT (vppcom_cfg_t, preallocated_fifo_pairs); AT (vppcom_cfg_t, rx_fifo_size);
  AT (vppcom_cfg_t, tx_fifo_size); AT (vppcom_cfg_t, event_queue_size);
  AT (vppcom_cfg_t, app_proxy_transport_tcp); AT (vppcom_cfg_t, app_proxy_transport_udp);
  AT (vppcom_cfg_t, app_scope_local); AT (vppcom_cfg_t, app_scope_global);
  AT (vppcom_cfg_t, namespace_id); AT (vppcom_cfg_t, namespace_secret);
  AT (vppcom_cfg_t, use_mq_eventfd); AT (vppcom_cfg_t, app_timeout);
  AT (vppcom_cfg_t, session_timeout); AT (vppcom_cfg_t, event_log_path);
  AT (vppcom_cfg_t, vpp_app_socket_api); AT (vppcom_cfg_t, vpp_bapi_socket_name);
  AT (vppcom_cfg_t, app_name); AT (vppcom_cfg_t, tls_engine);
  AT (vppcom_cfg_t, mt_wrk_supported); AT (vppcom_cfg_t, huge_page);
  AT (vppcom_cfg_t, app_original_dst); AT (vppcom_cfg_t, debug_level);
  IS (VPPCOM_PROTO_HTTP); IS (VPPCOM_IS_IP4); IS (VPPCOM_EBADFD); IS (VPPCOM_ENOTSUP);
  IS (VPPCOM_ATTR_SET_FLAGS); IS (VPPCOM_ATTR_GET_PEER_ADDR); IS (VPPCOM_ATTR_GET_ERROR);
  IS (VPPCOM_ATTR_SET_RX_FIFO_LEN); IS (VPPCOM_ATTR_SET_TCP_USER_MSS);
  IS (VPPCOM_ATTR_SET_CONNECTED); IS (VPPCOM_ATTR_GET_DOMAIN); IS (VPPCOM_ATTR_GET_NWRITEQ);
  IS (VPPCOM_ATTR_SET_COOKIE); IS (VPPCOM_ATTR_SET_APP_PROTO_ERR_CODE);
  IS (VPPCOM_STREAM_F_UNIDIRECTIONAL); IS (VCL_UDP_SEGMENT); IS (VCL_IP_PKTINFO);
  return 0;
}
